// At most one copy from where the network left the bytes to where the floats are needed.
#include "runtime/net/payload.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "schemas/base/check.h"

namespace trainyard::runtime {

static_assert(std::endian::native == std::endian::little, "frames carry little-endian floats");

std::int64_t Payload::bytes() const {
  std::size_t sum = 0;
  for (const auto& piece : pieces) sum += piece.size();
  return static_cast<std::int64_t>(sum);
}

Payload payload_of(std::span<const float> arena, const Share& share) {
  Payload payload;
  for (const Range& range : share.ranges) {
    payload.pieces.push_back(std::as_bytes(arena.subspan(static_cast<std::size_t>(range.begin),
                                                         static_cast<std::size_t>(range.size()))));
  }
  return payload;
}

Payload payload_of(std::span<const float> arenas, std::int64_t arena_elements, const Share& share) {
  Payload payload;
  const auto step = static_cast<std::size_t>(arena_elements);
  for (std::size_t begin = 0; begin < arenas.size(); begin += step) {
    const Payload one = payload_of(arenas.subspan(begin, step), share);
    payload.pieces.insert(payload.pieces.end(), one.pieces.begin(), one.pieces.end());
  }
  return payload;
}

PayloadReader::PayloadReader(const Payload& payload, std::int64_t begin) : payload_(&payload) {
  auto left = static_cast<std::size_t>(begin);
  while (left > 0 && left >= payload.pieces[piece_].size()) left -= payload.pieces[piece_++].size();
  at_ = left;
}

void PayloadReader::read_bytes(std::span<std::byte> out) {
  while (!out.empty()) {
    ENSURE(piece_ < payload_->pieces.size());
    const auto rest = payload_->pieces[piece_].subspan(at_);
    const std::size_t count = std::min(rest.size(), out.size());
    std::memcpy(out.data(), rest.data(), count);
    out = out.subspan(count);
    pass(count);
  }
}

void PayloadReader::pass(std::size_t bytes) {
  at_ += bytes;
  if (at_ < payload_->pieces[piece_].size()) return;
  ++piece_;
  at_ = 0;
}

std::span<const float> PayloadReader::view(std::size_t count) {
  if (count == 0 || piece_ == payload_->pieces.size()) return {};
  const auto rest = payload_->pieces[piece_].subspan(at_);
  const bool are_floats = reinterpret_cast<std::uintptr_t>(rest.data()) % alignof(float) == 0;
  if (!are_floats || rest.size() < count * sizeof(float)) return {};
  pass(count * sizeof(float));
  return {reinterpret_cast<const float*>(rest.data()), count};
}

}  // namespace trainyard::runtime
