#include "runtime/net/row_frame.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>

namespace trainyard::runtime {
namespace {

// Copies pieces one after another, from byte `begin` of them all.
void copy_out(const Payload& payload, std::size_t begin, std::span<std::byte> out) {
  for (const auto& piece : payload.pieces) {
    if (begin >= piece.size()) {
      begin -= piece.size();
      continue;
    }
    const std::size_t count = std::min(piece.size() - begin, out.size());
    if (count > 0) std::memcpy(out.data(), piece.data() + begin, count);
    out = out.subspan(count);
    begin = 0;
  }
}

}  // namespace

grpc::ByteBuffer encode_rows(const proto::RowFrame& header, std::shared_ptr<const RowBody> body) {
  Payload payload;
  if (!body->ids.empty()) payload.pieces.push_back(std::as_bytes(std::span(body->ids)));
  if (!body->sizes.empty()) payload.pieces.push_back(std::as_bytes(std::span(body->sizes)));
  if (!body->places.empty()) payload.pieces.push_back(std::as_bytes(std::span(body->places)));
  if (!body->rows.empty()) payload.pieces.push_back(std::as_bytes(std::span(body->rows)));
  payload.owner = std::move(body);
  return encode_frame(header, payload);
}

Result<RowMessage> decode_rows(const grpc::ByteBuffer& bytes) {
  TRY_ASSIGN(const Frame<proto::RowFrame> frame, decode_row_frame(bytes));
  RowMessage message{.header = frame.header, .body = {}};
  const auto total = static_cast<std::size_t>(frame.payload.bytes());
  std::size_t ids = 0;
  for (const std::int64_t count : message.header.counts()) {
    const auto left = static_cast<std::int64_t>(total / sizeof(std::int64_t) - ids);
    if (count < 0 || count > left) return invalid("a frame of fewer rows than it says");
    ids += static_cast<std::size_t>(count);
  }
  std::size_t left = total - ids * sizeof(std::int64_t);
  if (left % sizeof(float) != 0) return invalid("a frame with a part of a float");
  left /= sizeof(float);
  for (const std::int64_t count : {message.header.bags(), message.header.elements()}) {
    if (count < 0 || count > static_cast<std::int64_t>(left)) {
      return invalid("a frame of fewer bags than it says");
    }
    left -= static_cast<std::size_t>(count);
  }
  RowBody& body = message.body;
  body.ids.resize(ids);
  body.sizes.resize(static_cast<std::size_t>(message.header.bags()));
  body.places.resize(static_cast<std::size_t>(message.header.elements()));
  body.rows.resize(left);
  std::size_t at = 0;
  const auto take = [&](auto& part) {
    const auto place = std::as_writable_bytes(std::span(part));
    copy_out(frame.payload, at, place);
    at += place.size();
  };
  take(body.ids);
  take(body.sizes);
  take(body.places);
  take(body.rows);
  return message;
}

RowBody joined(std::vector<RowGradients> parts) {
  RowBody body;
  if (parts.size() == 1) {
    body.ids = std::move(parts.front().ids);
    body.rows = std::move(parts.front().rows);
    return body;
  }
  for (const RowGradients& part : parts) {
    body.ids.insert(body.ids.end(), part.ids.begin(), part.ids.end());
    body.rows.insert(body.rows.end(), part.rows.begin(), part.rows.end());
  }
  return body;
}

Result<std::vector<RowGradients>> parted(RowMessage message, std::int64_t width) {
  RowBody& body = message.body;
  if (std::ssize(body.rows) != std::ssize(body.ids) * width) {
    return invalid(std::to_string(body.rows.size()) + " floats for " +
                   std::to_string(body.ids.size()) + " rows of " + std::to_string(width));
  }
  std::vector<RowGradients> parts;
  if (message.header.counts_size() == 1) {
    parts.push_back({.ids = std::move(body.ids), .rows = std::move(body.rows)});
    return parts;
  }
  auto id = body.ids.begin();
  auto row = body.rows.begin();
  for (const std::int64_t count : message.header.counts()) {
    parts.push_back({.ids = {id, id + count}, .rows = {row, row + count * width}});
    id += count;
    row += count * width;
  }
  return parts;
}

}  // namespace trainyard::runtime
