#include "runtime/net/wire_format.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "runtime/math/wire/bfloat16.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t onebit_head_bytes = 2 * float_bytes;
constexpr std::int64_t signs_per_byte = 8;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t block_of(std::int64_t element) { return element / onebit_block_elements; }

// Of an encoded arena: where the sign of an element is; of an end, one past its last byte.
std::int64_t sign_byte(std::int64_t element) {
  return block_of(element) * onebit_block_bytes + onebit_head_bytes +
         element % onebit_block_elements / signs_per_byte;
}
std::int64_t sign_end(std::int64_t end) { return sign_byte(end - 1) + 1; }

std::int64_t bytes_before_state(const ArenaEncoding& arena) {
  const std::int64_t elements = std::min(arena.elements, arena.state_begin);
  if (arena.wire == Wire::float32) return elements * float_bytes;
  if (arena.wire == Wire::bfloat16) return elements * float_bytes / 2;
  return divide_up(elements, onebit_block_elements) * onebit_block_bytes;
}

// The pieces of one encoded gradient that make the share, in the order of its ranges.
void add_pieces(const ArenaEncoding& arena, std::span<const std::byte> encoded, const Share& share,
                std::vector<std::span<const std::byte>>& pieces) {
  const auto add = [&](std::int64_t begin, std::int64_t end) {
    pieces.push_back(
        encoded.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)));
  };
  for (const Range& range : share.ranges) {
    if (range.size() == 0) continue;
    const Wire wire = wire_of_chunk(arena.wire, range, arena.state_begin);
    if (wire != Wire::onebit) {
      const std::int64_t begin = encoded_begin(arena, range.begin);
      add(begin, begin + range.size() * (wire == Wire::float32 ? float_bytes : float_bytes / 2));
      continue;
    }
    ENSURE(range.begin % signs_per_byte == 0);
    const std::int64_t head = block_of(range.begin) * onebit_block_bytes;
    if (range.begin % onebit_block_elements == 0) {
      add(head, sign_end(range.end));
    } else {  // the block's means, then its signs from where the range begins
      add(head, head + onebit_head_bytes);
      add(sign_byte(range.begin), sign_end(range.end));
    }
  }
}

// Of a range in a payload.
std::int64_t onebit_bytes(const Range& range) {
  if (range.size() == 0) return 0;
  const std::int64_t blocks = block_of(range.end - 1) - block_of(range.begin) + 1;
  return blocks * onebit_head_bytes + divide_up(range.size(), signs_per_byte);
}

}  // namespace

std::int64_t gradient_bytes(Wire wire, const Share& share) {
  if (wire == Wire::float32) return share.elements() * float_bytes;
  if (wire == Wire::bfloat16) return share.elements() * float_bytes / 2;
  return std::accumulate(
      share.ranges.begin(), share.ranges.end(), std::int64_t{0},
      [](std::int64_t sum, const Range& range) { return sum + onebit_bytes(range); });
}

std::int64_t encoded_bytes(const ArenaEncoding& arena) {
  return bytes_before_state(arena) + arena.state_elements() * float_bytes;
}

std::int64_t encoded_begin(const ArenaEncoding& arena, std::int64_t element) {
  if (element >= arena.state_begin) {
    return bytes_before_state(arena) + (element - arena.state_begin) * float_bytes;
  }
  ENSURE(arena.wire != Wire::onebit);
  return element * (arena.wire == Wire::float32 ? float_bytes : float_bytes / 2);
}

std::vector<std::span<const std::byte>> encoded_pieces(const ArenaEncoding& arena,
                                                       std::span<const std::byte> encoded,
                                                       const Share& share, std::int64_t parts) {
  std::vector<std::span<const std::byte>> pieces;
  const auto each = static_cast<std::size_t>(encoded_bytes(arena));
  for (std::int64_t part = 0; part < parts; ++part) {
    add_pieces(arena, encoded.subspan(static_cast<std::size_t>(part) * each, each), share, pieces);
  }
  return pieces;
}

std::vector<Leaves> sent_nodes(Wire wire, Leaves owned, std::int64_t leaves) {
  if (wire == Wire::float32) return roots_of(owned, leaves);
  std::vector<Leaves> nodes;
  for (std::int64_t leaf = owned.begin; leaf < owned.end; ++leaf) nodes.push_back({leaf, leaf + 1});
  return nodes;
}

GradientReader::GradientReader(Wire wire, const Share& share, const Payload& payload,
                               std::int64_t begin, std::int64_t first)
    : wire_(wire),
      share_(&share),
      bytes_(payload,
             wire == Wire::onebit
                 ? begin
                 : begin + first * (wire == Wire::float32 ? float_bytes : float_bytes / 2)) {
  if (wire == Wire::onebit && first > 0) seek_onebit(payload, begin, first);
}

// To the element's sign, with the means of its block.
void GradientReader::seek_onebit(const Payload& payload, std::int64_t begin, std::int64_t first) {
  ENSURE(first % signs_per_byte == 0);
  while (range_ < share_->ranges.size() && first >= share_->ranges[range_].size()) {
    begin += onebit_bytes(share_->ranges[range_]);
    first -= share_->ranges[range_++].size();
  }
  if (range_ == share_->ranges.size() || first == 0) {
    bytes_ = PayloadReader(payload, begin);
    return;
  }
  const Range& range = share_->ranges[range_];
  at_ = range.begin + first;
  const std::int64_t block_begin =
      std::max(range.begin, block_of(at_) * onebit_block_elements);  // of what the range has of it
  begin += onebit_bytes({range.begin, block_begin});
  bytes_ = PayloadReader(payload, begin);
  if (at_ % onebit_block_elements == 0) return;  // the means are read with the first sign
  read_means();
  bytes_ = PayloadReader(payload, begin + onebit_head_bytes + (at_ - block_begin) / signs_per_byte);
}

void GradientReader::read_means() {
  std::array<float, 2> head;
  bytes_.read(head);
  means_ = {.positive = head[0], .negative = head[1]};
}

void GradientReader::read(std::span<float> out) {
  switch (wire_) {
    case Wire::float32: return bytes_.read(out);
    case Wire::bfloat16: return read_bfloat16(out);
    case Wire::onebit: return read_onebit(out);
  }
}

std::span<const float> GradientReader::view(std::span<float> room) {
  if (wire_ == Wire::float32) {
    if (const auto there = bytes_.view(room.size()); !there.empty()) return there;
  }
  read(room);
  return room;
}

void GradientReader::read_bfloat16(std::span<float> out) {
  std::array<std::uint16_t, 1024> halves;
  while (!out.empty()) {
    const std::size_t count = std::min(halves.size(), out.size());
    bytes_.read_bytes(std::as_writable_bytes(std::span(halves).first(count)));
    decode_bfloat16(std::span(halves).first(count), out.first(count));
    out = out.subspan(count);
  }
}

void GradientReader::read_onebit(std::span<float> out) {
  std::array<std::uint8_t, onebit_sign_bytes(onebit_block)> signs;
  while (!out.empty()) {
    ENSURE(range_ < share_->ranges.size());
    const Range& range = share_->ranges[range_];
    const bool enters = at_ < 0;
    if (enters) at_ = range.begin;
    if (at_ == range.end) {
      ++range_;
      at_ = -1;
      continue;
    }
    if (enters || at_ % onebit_block_elements == 0) read_means();
    const std::int64_t end = std::min(range.end, (block_of(at_) + 1) * onebit_block_elements);
    const std::size_t count = std::min(out.size(), static_cast<std::size_t>(end - at_));
    ENSURE(count % signs_per_byte == 0 || count == static_cast<std::size_t>(end - at_));
    const auto bytes = std::span(signs).first(onebit_sign_bytes(count));
    bytes_.read_bytes(std::as_writable_bytes(bytes));
    decode_onebit(bytes, means_, out.first(count));
    at_ += static_cast<std::int64_t>(count);
    out = out.subspan(count);
  }
}

}  // namespace trainyard::runtime
