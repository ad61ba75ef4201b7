// bfloat16: the upper half of a float32, with its range and 8 bits of precision.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "runtime/core/both.h"

namespace trainyard::runtime {

// Rounds to the nearest, of two equally near to the even one; beyond the largest it is infinite.
// NaN stays NaN, of the same sign.
TRAINYARD_BOTH constexpr std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  const std::uint32_t quiet = bits | 0x0040'0000U;  // or cutting it off could leave an infinity
  const bool is_nan = (bits & 0x7FFF'FFFFU) > 0x7F80'0000U;
  return static_cast<std::uint16_t>((is_nan ? quiet : rounded) >> 16);
}

TRAINYARD_BOTH constexpr float from_bfloat16(std::uint16_t half) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

// `from` and `to` are of one length.
void encode_bfloat16(std::span<const float> from, std::span<std::uint16_t> to);
void decode_bfloat16(std::span<const std::uint16_t> from, std::span<float> to);

}  // namespace trainyard::runtime
