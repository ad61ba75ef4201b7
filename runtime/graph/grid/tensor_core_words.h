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

  // To the nearest, of two equally near to the one further from zero (PTX: cvt.rna.tf32). NaN stays
  // one, though the bits that are cut off were all it had.
  static TRAINYARD_BOTH std::uint32_t pack(const float (&numbers)[depths]) {
    constexpr std::uint32_t kept = 0xFFFF'E000U;
    constexpr std::uint32_t half = 0x0000'1000U;
    constexpr std::uint32_t quiet = 0x0040'0000U;
    const auto bits = std::bit_cast<std::uint32_t>(numbers[0]);
    const std::uint32_t size = bits & 0x7FFF'FFFFU;
    constexpr std::uint32_t infinity = 0x7F80'0000U;
    if (size >= infinity) return size == infinity ? bits : (bits | quiet) & kept;
    return (bits + half) & kept;
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

// Where a lane's n-th word of a side is in what a warp multiplies at once, 8 words deep (PTX ISA,
// "Matrix Fragments for mma.m16n8k8" with .tf32 and "for mma.m16n8k16" with .bf16: of words both
// are alike). The left side has 16 rows and a lane four words; the right one 8 columns, and two.
struct FragmentPlace {
  int word;
  int line;  // row or column
};
TRAINYARD_BOTH constexpr FragmentPlace left_fragment(int lane, int n) {
  return {lane % 4 + n / 2 * 4, lane / 4 + n % 2 * 8};
}
TRAINYARD_BOTH constexpr FragmentPlace right_fragment(int lane, int n) {
  return {lane % 4 + n * 4, lane / 4};
}
// And its i-th sum, of four, of 16 rows and 8 columns.
struct SumPlace {
  int row;
  int column;
};
TRAINYARD_BOTH constexpr SumPlace sum_place(int lane, int i) {
  return {lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2};
}

}  // namespace trainyard::runtime
