// Frames of Params.PushPull <-> gRPC byte buffers without a copy of the tensor. A frame is exactly
// what protobuf's own serialisation of PushFrame or PullFrame gives, so any protobuf client can
// speak to a ps; `data` comes last.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string_view>

#include "runtime/net/payload.h"
#include "schemas/base/result.h"
#include "schemas/proto/params.pb.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// `header` with the payload as its `data`. The payload's memory is aliased: its owner is held until
// gRPC has sent it, and it must not change until then.
grpc::ByteBuffer encode_frame(const proto::PushFrame& header, const Payload& payload);
grpc::ByteBuffer encode_frame(const proto::PullFrame& header, const Payload& payload);

grpc::ByteBuffer encode_frame(const proto::RowFrame& header, const Payload& payload);

template <class Header>
struct Frame {
  Header header;    // without `data`
  Payload payload;  // holds gRPC's slices
};

// `invalid` where the bytes are no such message, `data` is not the last field, or it does not reach
// to the end.
Result<Frame<proto::PushFrame>> decode_push(const grpc::ByteBuffer& bytes);
Result<Frame<proto::PullFrame>> decode_pull(const grpc::ByteBuffer& bytes);
Result<Frame<proto::RowFrame>> decode_row_frame(const grpc::ByteBuffer& bytes);

// How the gradients of a job travel, and the parameters that are not asked for as float32.
proto::Encoding gradient_encoding(Wire wire);
proto::Encoding parameter_encoding(Wire wire);
// "bfloat16"; "an unknown encoding".
std::string_view encoding_name(proto::Encoding encoding);

// What a frame may need besides its tensor: the bound of gRPC's message size is the share and this.
constexpr int kFrameHeaderBytesMax = 4096;
// The same of a frame of rows: of some 200,000 parts.
constexpr int kRowHeaderBytesMax = 1 << 20;

}  // namespace trainyard::runtime
