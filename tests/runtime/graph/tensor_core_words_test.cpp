#include "runtime/graph/grid/tensor_core_words.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <utility>

using namespace trainyard::runtime;

namespace {

float tf32_of(float number) { return Tf32Words::number(Tf32Words::pack({number}), 0); }
float tf32_of_bits(std::uint32_t bits) { return tf32_of(std::bit_cast<float>(bits)); }

}  // namespace

TEST_CASE("a number of tf32 is the nearest of ten bits, of two the one further from zero",
          "[precision]") {
  CHECK(tf32_of(1.0F) == 1.0F);
  CHECK(tf32_of(1.0F + std::ldexp(1.0F, -10)) == 1.0F + std::ldexp(1.0F, -10));
  CHECK(tf32_of(1.0F + std::ldexp(1.0F, -11)) == 1.0F + std::ldexp(1.0F, -10));
  CHECK(tf32_of(-1.0F - std::ldexp(1.0F, -11)) == -1.0F - std::ldexp(1.0F, -10));
  CHECK(tf32_of(1.0F + std::ldexp(1.0F, -12)) == 1.0F);
  CHECK(tf32_of(std::numeric_limits<float>::infinity()) == std::numeric_limits<float>::infinity());
  CHECK(tf32_of(std::numeric_limits<float>::max()) == std::numeric_limits<float>::infinity());
  CHECK(std::signbit(tf32_of(-0.0F)));
}

TEST_CASE("NaN stays NaN in tf32, in the bits that a tensor core reads", "[precision]") {
  for (const std::uint32_t bits : {0x7FC0'0000U, 0x7F80'0001U, 0xFF80'1FFFU, 0x7FFF'FFFFU}) {
    CHECK(std::isnan(tf32_of_bits(bits)));
    CHECK((Tf32Words::pack({std::bit_cast<float>(bits)}) & 0x1FFFU) == 0);
  }
}

TEST_CASE("a word of bfloat16 has two numbers as the wire's codec rounds them", "[precision]") {
  std::mt19937 random(5);
  for (int i = 0; i < 100000; ++i) {
    const auto low = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const auto high = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const std::uint32_t word = Bfloat16Words::pack({low, high});
    REQUIRE((word & 0xFFFFU) == to_bfloat16(low));
    REQUIRE(word >> 16 == to_bfloat16(high));
    if (std::isnan(low)) continue;
    REQUIRE(Bfloat16Words::number(word, 0) == from_bfloat16(to_bfloat16(low)));
  }
}

// PTX ISA, "Matrix Fragments for mma.m16n8k16 with floating point type": of elements, of which a
// register has two.
TEST_CASE("fragments lie as PTX says of m16n8k16", "[precision]") {
  for (int lane = 0; lane < 32; ++lane) {
    const int group = lane >> 2;
    const int in_group = lane % 4;
    for (int i = 0; i < 8; ++i) {
      const bool is_upper = (i >= 0 && i < 2) || (i >= 4 && i < 6);
      const int row = is_upper ? group : group + 8;
      const int depth = in_group * 2 + (i & 1) + (i < 4 ? 0 : 8);
      CHECK(left_fragment(lane, i / 2).line == row);
      CHECK(left_fragment(lane, i / 2).word * 2 + i % 2 == depth);
    }
    for (int i = 0; i < 4; ++i) {
      const int depth = in_group * 2 + (i & 1) + (i < 2 ? 0 : 8);
      CHECK(right_fragment(lane, i / 2).line == group);
      CHECK(right_fragment(lane, i / 2).word * 2 + i % 2 == depth);
      CHECK(sum_place(lane, i).row == (i < 2 ? group : group + 8));
      CHECK(sum_place(lane, i).column == in_group * 2 + (i & 1));
    }
  }
}

TEST_CASE("the lanes of a warp have each word, and each sum, once", "[precision]") {
  std::set<std::pair<int, int>> left;
  std::set<std::pair<int, int>> right;
  std::set<std::pair<int, int>> sums;
  for (int lane = 0; lane < 32; ++lane) {
    for (int n = 0; n < 4; ++n) {
      left.emplace(left_fragment(lane, n).word, left_fragment(lane, n).line);
      sums.emplace(sum_place(lane, n).row, sum_place(lane, n).column);
    }
    for (int n = 0; n < 2; ++n) {
      right.emplace(right_fragment(lane, n).word, right_fragment(lane, n).line);
    }
  }
  CHECK(left.size() == 8 * 16);
  CHECK(right.size() == 8 * 8);
  CHECK(sums.size() == 16 * 8);
}
