// What tensor cores read: numbers of fewer bits than float32, in words of 32 bits.
#pragma once

#include <bit>
#include <cstdint>

#include "runtime/math/elements/both.h"
#include "runtime/math/wire/bfloat16.h"

namespace trainyard::runtime {

// The upper 19 bits of a float32: its range, and ten bits behind the point.
struct Tf32Words {
  static constexpr int depths = 1;  // numbers of a word, neighbours in a product's depth

  // To the nearest, of two equally near to the one further from zero (PTX: cvt.rna.tf32).
  static TRAINYARD_BOTH std::uint32_t pack(const float (&numbers)[depths]) {
    constexpr std::uint32_t half = 0x1000U;
    constexpr std::uint32_t kept = ~0x1FFFU;
    union {
      float number;
      std::uint32_t bits;
    } word = {numbers[0]};
    const bool is_finite = (word.bits & 0x7F80'0000U) != 0x7F80'0000U;
    return is_finite ? (word.bits + half) & kept : word.bits;
  }
  static float number(std::uint32_t word, int) { return std::bit_cast<float>(word); }
};

// Two of bfloat16, the first in the lower half.
struct Bfloat16Words {
  static constexpr int depths = 2;

  static TRAINYARD_BOTH std::uint32_t pack(const float (&numbers)[depths]) {
#ifdef __CUDA_ARCH__
    std::uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(numbers[1]), "f"(numbers[0]));
    return word;
#else
    return to_bfloat16(numbers[0]) | std::uint32_t{to_bfloat16(numbers[1])} << 16;
#endif
  }
  static float number(std::uint32_t word, int depth) {
    return from_bfloat16(static_cast<std::uint16_t>(depth == 0 ? word : word >> 16));
  }
};

}  // namespace trainyard::runtime
