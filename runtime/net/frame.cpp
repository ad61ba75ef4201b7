// Protobuf writes and reads the small fields; only the tag and length of `data` are made by hand.
#include "runtime/net/frame.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schemas/wire/spec_names.h"

namespace trainyard::runtime {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

static_assert(int{proto::PushFrame::kDataFieldNumber} == int{proto::PullFrame::kDataFieldNumber});
static_assert(int{proto::PushFrame::kDataFieldNumber} == int{proto::RowFrame::kDataFieldNumber});
constexpr std::uint32_t kDataTag = WireFormatLite::MakeTag(
    proto::PushFrame::kDataFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

// A slice of foreign memory that holds on to its owner.
grpc::Slice alias(std::span<const std::byte> piece, const std::shared_ptr<const void>& owner) {
  using Owner = std::shared_ptr<const void>;
  void* const memory = const_cast<std::byte*>(piece.data());  // NOLINT: gRPC only reads it
  return {memory, piece.size(), [](void* held) { delete static_cast<Owner*>(held); },
          new Owner(owner)};
}

grpc::ByteBuffer encode(const google::protobuf::Message& header, const Payload& payload) {
  std::string head = header.SerializeAsString();
  const auto data_bytes = static_cast<std::uint64_t>(payload.bytes());
  if (data_bytes > 0) {
    std::array<std::uint8_t, 16> field{};
    std::uint8_t* end = CodedOutputStream::WriteTagToArray(kDataTag, field.data());
    end = CodedOutputStream::WriteVarint64ToArray(data_bytes, end);
    head.append(field.begin(), field.begin() + (end - field.data()));
  }

  std::vector<grpc::Slice> slices;
  slices.reserve(1 + payload.pieces.size());
  slices.emplace_back(head);
  for (const auto& piece : payload.pieces) slices.push_back(alias(piece, payload.owner));
  return {slices.data(), slices.size()};
}

struct Layout {
  std::size_t header_bytes = 0;
  std::size_t data_begin = 0;
};

// Where the small fields end and the tensor begins. `start` is the frame's beginning, `total` its
// whole length.
std::optional<Layout> find_data(std::span<const std::uint8_t> start, std::size_t total) {
  CodedInputStream in(start.data(), static_cast<int>(start.size()));
  for (;;) {
    const auto at = static_cast<std::size_t>(in.CurrentPosition());
    if (at == total) return Layout{at, at};
    const std::uint32_t tag = in.ReadTag();
    if (tag == kDataTag) {
      std::uint64_t length = 0;
      if (!in.ReadVarint64(&length)) return std::nullopt;
      const auto begin = static_cast<std::size_t>(in.CurrentPosition());
      if (length != total - begin) return std::nullopt;
      return Layout{at, begin};
    }
    if (tag == 0 || !WireFormatLite::SkipField(&in, tag)) return std::nullopt;
  }
}

// Drops the first `count` bytes of the pieces.
void drop_front(std::vector<std::span<const std::byte>>& pieces, std::size_t count) {
  auto piece = pieces.begin();
  while (piece != pieces.end() && count >= piece->size()) {
    count -= piece->size();
    ++piece;
  }
  pieces.erase(pieces.begin(), piece);
  if (count > 0) pieces.front() = pieces.front().subspan(count);
}

// Copies the first `count` bytes of the pieces, which have so many.
std::vector<std::uint8_t> front_of(std::span<const std::span<const std::byte>> pieces,
                                   std::size_t count) {
  std::vector<std::uint8_t> front(count);
  std::size_t copied = 0;
  for (auto piece = pieces.begin(); copied < count; ++piece) {
    const std::size_t part = std::min(piece->size(), count - copied);
    std::memcpy(front.data() + copied, piece->data(), part);
    copied += part;
  }
  return front;
}

// Where the tensor must have begun. A frame of rows counts the ids of each of its parts before.
template <class Header>
constexpr std::size_t header_bytes_max = kFrameHeaderBytesMax;
template <>
constexpr std::size_t header_bytes_max<proto::RowFrame> = kRowHeaderBytesMax;

template <class Header>
Result<Frame<Header>> decode(const grpc::ByteBuffer& bytes) {
  auto slices = std::make_shared<std::vector<grpc::Slice>>();
  if (!bytes.Dump(slices.get()).ok()) return invalid("a frame that cannot be read");

  Frame<Header> frame;
  for (const grpc::Slice& slice : *slices) {
    if (slice.size() > 0) frame.payload.pieces.push_back(std::as_bytes(std::span(slice)));
  }
  frame.payload.owner = slices;

  // Most headers are small, so a little is looked at first.
  std::vector<std::uint8_t> start;
  std::optional<Layout> layout;
  for (const std::size_t room : {std::size_t{kFrameHeaderBytesMax}, header_bytes_max<Header>}) {
    if (layout || room <= start.size()) break;
    start = front_of(frame.payload.pieces, std::min(bytes.Length(), room));
    layout = find_data(start, bytes.Length());
  }
  if (!layout ||
      !frame.header.ParseFromArray(start.data(), static_cast<int>(layout->header_bytes))) {
    return invalid("a frame that is no " + std::string(frame.header.GetTypeName()));
  }
  drop_front(frame.payload.pieces, layout->data_begin);
  return frame;
}

}  // namespace

grpc::ByteBuffer encode_frame(const proto::PushFrame& header, const Payload& payload) {
  return encode(header, payload);
}

grpc::ByteBuffer encode_frame(const proto::PullFrame& header, const Payload& payload) {
  return encode(header, payload);
}

grpc::ByteBuffer encode_frame(const proto::RowFrame& header, const Payload& payload) {
  return encode(header, payload);
}

Result<Frame<proto::PushFrame>> decode_push(const grpc::ByteBuffer& bytes) {
  return decode<proto::PushFrame>(bytes);
}

Result<Frame<proto::PullFrame>> decode_pull(const grpc::ByteBuffer& bytes) {
  return decode<proto::PullFrame>(bytes);
}

proto::Encoding gradient_encoding(Wire wire) {
  switch (wire) {
    case Wire::float32: break;
    case Wire::bfloat16: return proto::BFLOAT16;
    case Wire::onebit: return proto::ONEBIT;
  }
  return proto::FLOAT32;
}

proto::Encoding parameter_encoding(Wire wire) {
  return wire == Wire::bfloat16 ? proto::BFLOAT16 : proto::FLOAT32;
}

std::string_view encoding_name(proto::Encoding encoding) {
  for (const auto& [wire, name] : wire_names) {
    if (gradient_encoding(wire) == encoding) return name;
  }
  return "an unknown encoding";
}

Result<Frame<proto::RowFrame>> decode_row_frame(const grpc::ByteBuffer& bytes) {
  return decode<proto::RowFrame>(bytes);
}

}  // namespace trainyard::runtime
