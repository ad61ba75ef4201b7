// Which elements dropout keeps: the arithmetic of a block of four, for the loops of every device.
// Philox4x32-10 as runtime/core/counter_rng.h has it, written so that loops over blocks are
// vectorised.
#pragma once

#include <array>
#include <cstdint>

namespace trainyard::runtime {

// The words of the counter that do not depend on the position, and the key of the ten rounds.
struct DropoutDraw {
  std::uint32_t stream = 0;
  std::uint32_t layer = 0;
  std::uint32_t seed_low = 0;
  std::uint32_t seed_high = 0;
};

// Of the four elements that begin at 4 * block.
inline std::array<std::uint32_t, 4> dropout_words(const DropoutDraw& draw, std::uint64_t block) {
  auto a = static_cast<std::uint32_t>(block);
  auto b = static_cast<std::uint32_t>(block >> 32);
  std::uint32_t c = draw.stream;
  std::uint32_t d = draw.layer;
  std::uint32_t key_low = draw.seed_low;
  std::uint32_t key_high = draw.seed_high;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t left = std::uint64_t{0xD2511F53} * a;
    const std::uint64_t right = std::uint64_t{0xCD9E8D57} * c;
    a = static_cast<std::uint32_t>(right >> 32) ^ b ^ key_low;
    b = static_cast<std::uint32_t>(right);
    c = static_cast<std::uint32_t>(left >> 32) ^ d ^ key_high;
    d = static_cast<std::uint32_t>(left);
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  return {a, b, c, d};
}

}  // namespace trainyard::runtime
