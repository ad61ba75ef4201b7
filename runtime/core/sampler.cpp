// A Feistel network over the smallest power of two that holds all examples; an index beyond the
// last is walked on along its cycle until it falls inside (Black and Rogaway: "Ciphers with
// arbitrary finite domains", 2002). Fewer than two walks on average.
#include "runtime/core/sampler.h"

#include <algorithm>
#include <bit>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::uint64_t mask(int bits) { return (std::uint64_t{1} << bits) - 1; }

// MurmurHash3's finalizer (Appleby, public domain): every input bit moves half of the output bits.
constexpr std::uint32_t mix(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x85EBCA6B;
  x ^= x >> 13;
  x *= 0xC2B2AE35;
  return x ^ (x >> 16);
}

}  // namespace

Sampler::Sampler(std::uint64_t seed, std::int64_t examples)
    : rng_(seed, RngStream::shuffle), examples_(examples) {
  ENSURE(examples >= 1 && examples <= std::int64_t{1} << 48);
  const int bits =
      std::max(2, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(examples - 1))));
  left_bits_ = bits / 2;
  right_bits_ = bits - left_bits_;
}

Sampler::RoundKeys Sampler::keys_of(std::int64_t epoch) const {
  const auto first = rng_.block(2 * static_cast<std::uint64_t>(epoch));
  const auto second = rng_.block(2 * static_cast<std::uint64_t>(epoch) + 1);
  return {first[0], first[1], first[2], first[3], second[0], second[1], second[2], second[3]};
}

std::uint64_t Sampler::permute(std::uint64_t index, const RoundKeys& keys) const {
  do {
    int left_bits = left_bits_;
    int right_bits = right_bits_;
    std::uint64_t left = index >> right_bits;
    std::uint64_t right = index & mask(right_bits);
    for (const std::uint32_t key : keys) {
      const std::uint64_t next =
          left ^ (mix(static_cast<std::uint32_t>(right) ^ key) & mask(left_bits));
      left = right;
      right = next;
      std::swap(left_bits, right_bits);  // an even number of rounds puts the widths back
    }
    index = left << right_bits | right;
  } while (index >= static_cast<std::uint64_t>(examples_));
  return index;
}

std::int64_t Sampler::at(std::int64_t position) const {
  std::int64_t index = 0;
  fill(position, {&index, 1});
  return index;
}

void Sampler::fill(std::int64_t first_position, std::span<std::int64_t> indices) const {
  ENSURE(first_position >= 0);
  std::int64_t epoch = first_position / examples_;
  std::int64_t in_epoch = first_position % examples_;
  RoundKeys keys = keys_of(epoch);
  for (std::int64_t& index : indices) {
    if (in_epoch == examples_) {
      in_epoch = 0;
      keys = keys_of(++epoch);
    }
    index = static_cast<std::int64_t>(permute(static_cast<std::uint64_t>(in_epoch++), keys));
  }
}

}  // namespace trainyard::runtime
