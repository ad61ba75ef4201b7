// Messages of Params.ReadRows and Params.PushRows <-> gRPC byte buffers. They are what protobuf
// makes of RowFrame; ids and rows are sent from where they lie and copied once on receiving.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/math/rows/row_gradients.h"
#include "runtime/net/frame.h"
#include "schemas/base/result.h"
#include "schemas/proto/params.pb.h"

namespace trainyard::runtime {

// A message's ids or rows or both, in `data` one after another. A request of bags has between them
// their sizes and where the rows of their elements are in the ids, and its rows are their values.
struct RowBody {
  std::vector<std::int64_t> ids;
  std::vector<std::uint32_t> sizes{};
  std::vector<std::uint32_t> places{};
  std::vector<float> rows;

  [[nodiscard]] std::int64_t bytes() const {
    const auto of = [](const auto& part) { return std::ssize(std::as_bytes(std::span(part))); };
    return of(ids) + of(sizes) + of(places) + of(rows);
  }
};

// `body` is aliased: it must not change until gRPC has sent it.
grpc::ByteBuffer encode_rows(const proto::RowFrame& header, std::shared_ptr<const RowBody> body);

struct RowMessage {
  proto::RowFrame header;  // without `data`
  RowBody body;            // as many ids as header.counts says, the rest is rows
};
// `invalid` where the bytes are no such message.
Result<RowMessage> decode_rows(const grpc::ByteBuffer& bytes);

// The parts of a rank's gradients as one message's ids and rows, and back; counts[i] ids are part
// i's. `invalid` where the rows are not [ids, width].
RowBody joined(std::vector<RowGradients> parts);
Result<std::vector<RowGradients>> parted(RowMessage message, std::int64_t width);

// What one message may hold at most, in floats: 256 MiB. And what it is then, with its header.
constexpr std::int64_t row_message_floats_max = std::int64_t{1} << 26;
constexpr std::int64_t row_message_bytes_max =
    row_message_floats_max * std::int64_t{sizeof(float)} + kRowHeaderBytesMax;

}  // namespace trainyard::runtime
