// Messages of the service Rows <-> gRPC byte buffers. They are what protobuf makes of the messages
// in rows.proto; ids and floats are sent from where they lie and copied once on receiving.
#pragma once

#include <google/protobuf/message_lite.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/math/rows/row_gradients.h"
#include "runtime/net/payload.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// What a message has in its field `data`, one after another.
struct RowData {
  std::vector<std::int64_t> ids{};
  std::vector<std::uint32_t> sizes{};   // of bags
  std::vector<std::uint32_t> places{};  // of the bags' elements, in the ids
  std::vector<float> floats{};          // values of the elements, or rows

  [[nodiscard]] std::int64_t bytes() const;

  // What one message may hold at most, 256 MiB; and what it is then, with its header.
  static constexpr std::int64_t floats_max = std::int64_t{1} << 26;
  static constexpr std::int64_t header_bytes_max = std::int64_t{1} << 20;  // of 200,000 parts
  static constexpr std::int64_t message_bytes_max =
      floats_max * std::int64_t{sizeof(float)} + header_bytes_max;
};

// `data` is aliased: it must not change until gRPC has sent it.
grpc::ByteBuffer encode_rows_message(const google::protobuf::MessageLite& header,
                                     std::shared_ptr<const RowData> data);

// Reads the header, all but its `data`, which is returned: it holds gRPC's slices. `invalid` where
// the bytes are no such message, or `data` is not the last field.
Result<Payload> decode_rows_message(const grpc::ByteBuffer& bytes,
                                    google::protobuf::MessageLite& header);

// How much of what is in it, as a header says; the rest is floats.
struct RowCounts {
  std::int64_t ids = 0;
  std::int64_t bags = 0;
  std::int64_t elements = 0;
};
// `invalid` where it is less than that.
Result<RowData> read_row_data(const Payload& payload, const RowCounts& counts);

// The parts of a rank's gradients as one message's ids and floats, and back; the first counts[0]
// ids are the first part's. `invalid` where a row is of no table, or the floats are not those of
// the rows.
RowData joined_parts(std::vector<RowGradients> parts);
Result<std::vector<RowGradients>> parts_of(RowData data, std::span<const std::int64_t> counts,
                                           const RowWidths& widths);
// The sum of such counts, of a message of so many bytes; `invalid` for more ids than those can be.
Result<std::int64_t> sum_of_counts(std::span<const std::int64_t> counts, std::int64_t bytes);

}  // namespace trainyard::runtime
