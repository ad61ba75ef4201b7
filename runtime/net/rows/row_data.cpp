// Protobuf writes and reads the small fields; only the tag and length of `data` are made by hand.
#include "runtime/net/rows/row_data.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "schemas/base/index.h"
#include "schemas/proto/rows.pb.h"

namespace trainyard::runtime {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

static_assert(int{proto::RowRequest::kDataFieldNumber} == int{proto::RowReply::kDataFieldNumber});
static_assert(int{proto::RowRequest::kDataFieldNumber} == int{proto::RowPush::kDataFieldNumber});
constexpr std::uint32_t data_tag = WireFormatLite::MakeTag(
    proto::RowRequest::kDataFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

// Most headers are small, so a little is looked at first.
constexpr std::size_t small_header = 4096;

// A slice of foreign memory that holds on to its owner.
grpc::Slice alias(std::span<const std::byte> piece, const std::shared_ptr<const RowData>& owner) {
  using Owner = std::shared_ptr<const RowData>;
  void* const memory = const_cast<std::byte*>(piece.data());  // NOLINT: gRPC only reads it
  return {memory, piece.size(), [](void* held) { delete static_cast<Owner*>(held); },
          new Owner(owner)};
}

struct Layout {
  std::size_t header_bytes = 0;
  std::size_t data_begin = 0;
};

// Where the small fields end and `data` begins, in a message of `total` bytes that begins so.
std::optional<Layout> find_data(std::span<const std::uint8_t> start, std::size_t total) {
  CodedInputStream in(start.data(), static_cast<int>(start.size()));
  for (;;) {
    const auto at = static_cast<std::size_t>(in.CurrentPosition());
    if (at == total) return Layout{at, at};
    const std::uint32_t tag = in.ReadTag();
    if (tag == data_tag) {
      std::uint64_t length = 0;
      if (!in.ReadVarint64(&length)) return std::nullopt;
      const auto begin = static_cast<std::size_t>(in.CurrentPosition());
      if (length != total - begin) return std::nullopt;
      return Layout{at, begin};
    }
    if (tag == 0 || !WireFormatLite::SkipField(&in, tag)) return std::nullopt;
  }
}

}  // namespace

std::int64_t RowData::bytes() const {
  const auto of = [](const auto& part) { return std::ssize(std::as_bytes(std::span(part))); };
  return of(ids) + of(sizes) + of(places) + of(floats);
}

grpc::ByteBuffer encode_rows_message(const google::protobuf::MessageLite& header,
                                     std::shared_ptr<const RowData> data) {
  std::string head = header.SerializeAsString();
  if (const std::int64_t bytes = data->bytes(); bytes > 0) {
    std::array<std::uint8_t, 16> field{};
    std::uint8_t* end = CodedOutputStream::WriteTagToArray(data_tag, field.data());
    end = CodedOutputStream::WriteVarint64ToArray(static_cast<std::uint64_t>(bytes), end);
    head.append(field.begin(), field.begin() + (end - field.data()));
  }
  std::vector<grpc::Slice> slices;
  slices.emplace_back(head);
  const auto add = [&](const auto& part) {
    if (!part.empty()) slices.push_back(alias(std::as_bytes(std::span(part)), data));
  };
  add(data->ids);
  add(data->sizes);
  add(data->places);
  add(data->floats);
  return {slices.data(), slices.size()};
}

Result<Payload> decode_rows_message(const grpc::ByteBuffer& bytes,
                                    google::protobuf::MessageLite& header) {
  auto slices = std::make_shared<std::vector<grpc::Slice>>();
  if (!bytes.Dump(slices.get()).ok()) return invalid("a message that cannot be read");
  Payload payload;
  for (const grpc::Slice& slice : *slices) {
    if (slice.size() > 0) payload.pieces.push_back(std::as_bytes(std::span(slice)));
  }
  payload.owner = slices;

  std::vector<std::uint8_t> start;
  std::optional<Layout> layout;
  for (const std::size_t room : {small_header, index_of(RowData::header_bytes_max)}) {
    if (layout || room <= start.size()) break;
    start.resize(std::min(bytes.Length(), room));
    PayloadReader(payload).read_bytes(std::as_writable_bytes(std::span(start)));
    layout = find_data(start, bytes.Length());
  }
  if (!layout || !header.ParseFromArray(start.data(), static_cast<int>(layout->header_bytes))) {
    return invalid("a message that is no " + header.GetTypeName());
  }
  std::size_t before = layout->data_begin;
  std::erase_if(payload.pieces, [&before](std::span<const std::byte>& piece) {
    const std::size_t part = std::min(before, piece.size());
    before -= part;
    piece = piece.subspan(part);
    return piece.empty();
  });
  return payload;
}

Result<RowData> read_row_data(const Payload& payload, const RowCounts& counts) {
  std::int64_t left = payload.bytes();
  const auto has = [&left](std::int64_t count, std::int64_t size) {
    const bool is_there = count >= 0 && count <= left / size;
    if (is_there) left -= count * size;
    return is_there;
  };
  if (!has(counts.ids, sizeof(std::int64_t))) return invalid("a message of fewer ids than it says");
  if (!has(counts.bags, sizeof(std::uint32_t)) || !has(counts.elements, sizeof(std::uint32_t))) {
    return invalid("a message of fewer bags than it says");
  }
  if (left % std::int64_t{sizeof(float)} != 0) return invalid("a message with a part of a float");
  RowData data;
  data.ids.resize(index_of(counts.ids));
  data.sizes.resize(index_of(counts.bags));
  data.places.resize(index_of(counts.elements));
  data.floats.resize(index_of(left) / sizeof(float));
  PayloadReader reader(payload);
  const auto take = [&reader](auto& part) {
    if (!part.empty()) reader.read_bytes(std::as_writable_bytes(std::span(part)));
  };
  take(data.ids);
  take(data.sizes);
  take(data.places);
  take(data.floats);
  return data;
}

RowData joined_parts(std::vector<RowGradients> parts) {
  RowData data;
  if (parts.size() == 1) {
    data.ids = std::move(parts.front().ids);
    data.floats = std::move(parts.front().rows);
    return data;
  }
  for (const RowGradients& part : parts) {
    data.ids.insert(data.ids.end(), part.ids.begin(), part.ids.end());
    data.floats.insert(data.floats.end(), part.rows.begin(), part.rows.end());
  }
  return data;
}

Result<std::vector<RowGradients>> parts_of(RowData data, std::span<const std::int64_t> counts,
                                           const RowWidths& widths) {
  TRY(check_rows(data.ids, widths));
  if (std::ssize(data.floats) != widths.floats(data.ids)) {
    return invalid(std::to_string(data.floats.size()) + " floats for " +
                   std::to_string(data.ids.size()) + " rows of " +
                   std::to_string(widths.floats(data.ids)));
  }
  std::vector<RowGradients> parts;
  if (counts.size() == 1) {
    parts.push_back({.ids = std::move(data.ids), .rows = std::move(data.floats)});
    return parts;
  }
  auto id = data.ids.begin();
  auto row = data.floats.begin();
  for (const std::int64_t count : counts) {
    const std::int64_t floats = widths.floats({id, id + count});
    parts.push_back({.ids = {id, id + count}, .rows = {row, row + floats}});
    id += count;
    row += floats;
  }
  return parts;
}

Result<std::int64_t> sum_of_counts(std::span<const std::int64_t> counts, std::int64_t bytes) {
  const std::int64_t most = bytes / std::int64_t{sizeof(std::int64_t)};
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    if (count < 0 || count > most - sum) return invalid("a message of fewer ids than it says");
    sum += count;
  }
  return sum;
}

}  // namespace trainyard::runtime
