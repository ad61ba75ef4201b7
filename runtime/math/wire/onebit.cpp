// Sums are kept in 16 lanes, element i in lane i % 16, and the lanes added pair by pair: the same
// bits on every host, and loops that the compiler makes vectors of.
#include "runtime/math/wire/onebit.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

static_assert(std::endian::native == std::endian::little, "signs are read as words");

constexpr std::size_t signs_per_word = 32;  // those that are looked at together
constexpr std::size_t lane_count = 16;
using Lanes = std::array<float, lane_count>;

float total(Lanes lanes) {
  for (std::size_t width = lane_count / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

// The values of one block, added up by their sign, and how many are below 0.
struct Sums {
  alignas(64) Lanes positive{};
  alignas(64) Lanes negative{};
  std::size_t below = 0;

  // values[i] belongs to lane i.
  void add(const float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      positive[i] += values[i] < 0.0F ? 0.0F : values[i];
      negative[i] += values[i] < 0.0F ? values[i] : 0.0F;
    }
  }
};

// Bit i of a word.
struct Bits {
  alignas(64) std::array<std::uint32_t, signs_per_word> at{};
  constexpr Bits() {
    for (std::size_t i = 0; i < signs_per_word; ++i) at[i] = 1U << i;
  }
};
constexpr Bits bits;

std::uint32_t signs_of(const float* values, std::size_t count) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < count; ++i) word |= values[i] < 0.0F ? bits.at[i] : 0U;
  return word;
}

// The 16 lanes of a sum, as two vectors.
class LaneVectors {
 public:
  explicit LaneVectors(Lanes& lanes)
      : lanes_(lanes), low_(_mm256_load_ps(lanes.data())), high_(_mm256_load_ps(&lanes[8])) {}
  ~LaneVectors() {
    _mm256_store_ps(lanes_.data(), low_);
    _mm256_store_ps(&lanes_[8], high_);
  }
  LaneVectors(const LaneVectors&) = delete;
  LaneVectors& operator=(const LaneVectors&) = delete;

  void add(__m256 values, bool to_high) {
    __m256& lanes = to_high ? high_ : low_;
    lanes = _mm256_add_ps(lanes, values);
  }

 private:
  Lanes& lanes_;
  __m256 low_;
  __m256 high_;
};

// The whole words of a block: makes the values, adds them up and writes their signs. Returns how
// many elements they are. By hand, for compilers do not find the instruction that gathers signs.
std::size_t take_words(std::span<const float> gradient, float residual_scale, float* values,
                       std::uint8_t* signs, Sums& sums) {
  constexpr std::size_t lane_width = 8;
  const __m256 scale = _mm256_set1_ps(residual_scale);
  const __m256 zero = _mm256_setzero_ps();
  LaneVectors positive(sums.positive);
  LaneVectors negative(sums.negative);
  std::size_t at = 0;
  for (; at + signs_per_word <= gradient.size(); at += signs_per_word) {
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < signs_per_word; i += lane_width) {
      const __m256 value = _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(values + at + i), scale),
                                         _mm256_loadu_ps(gradient.data() + at + i));
      _mm256_storeu_ps(values + at + i, value);
      const __m256 is_below = _mm256_cmp_ps(value, zero, _CMP_LT_OQ);
      positive.add(_mm256_andnot_ps(is_below, value), i % lane_count != 0);
      negative.add(_mm256_and_ps(is_below, value), i % lane_count != 0);
      word |= static_cast<std::uint32_t>(_mm256_movemask_ps(is_below)) << i;
    }
    sums.below += static_cast<std::size_t>(std::popcount(word));
    std::memcpy(signs + at / 8, &word, sizeof word);
  }
  return at;
}

void pick(std::uint32_t word, OneBitMeans means, float* out, std::size_t count) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = (word & bits.at[i]) != 0 ? means.negative : means.positive;
  }
}

}  // namespace

OneBitMeans encode_onebit(std::span<const float> gradient, float residual_scale,
                          std::span<float> residual, std::span<std::uint8_t> signs,
                          std::size_t padding) {
  const std::size_t size = gradient.size();
  ENSURE(size <= onebit_block && residual.size() == size);
  ENSURE(signs.size() == onebit_sign_bytes(size));
  const float* const in = gradient.data();
  float* const values = residual.data();
  Sums sums;
  const std::size_t at = take_words(gradient, residual_scale, values, signs.data(), sums);
  if (at < size) {
    for (std::size_t i = at; i < size; ++i) values[i] = values[i] * residual_scale + in[i];
    const std::size_t first = std::min(lane_count, size - at);
    sums.add(values + at, first);
    sums.add(values + at + first, size - at - first);
    const std::uint32_t word = signs_of(values + at, size - at);
    sums.below += static_cast<std::size_t>(std::popcount(word));
    std::memcpy(signs.data() + at / 8, &word, onebit_sign_bytes(size - at));
  }

  const std::size_t above = size - sums.below - padding;
  const OneBitMeans means{
      .positive = above == 0 ? 0.0F : total(sums.positive) / static_cast<float>(above),
      .negative = sums.below == 0 ? 0.0F : total(sums.negative) / static_cast<float>(sums.below)};
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) {
    values[i] -= values[i] < 0.0F ? means.negative : means.positive;
  }
  return means;
}

void decode_onebit(std::span<const std::uint8_t> signs, const OneBitMeans& means,
                   std::span<float> out) {
  ENSURE(signs.size() >= onebit_sign_bytes(out.size()));
  std::uint32_t word = 0;
  std::size_t at = 0;
  for (; at + signs_per_word <= out.size(); at += signs_per_word) {
    std::memcpy(&word, signs.data() + at / 8, sizeof word);
    pick(word, means, out.data() + at, signs_per_word);
  }
  if (at == out.size()) return;
  word = 0;
  std::memcpy(&word, signs.data() + at / 8, onebit_sign_bytes(out.size() - at));
  pick(word, means, out.data() + at, out.size() - at);
}

}  // namespace trainyard::runtime
