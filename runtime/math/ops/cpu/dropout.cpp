// Words are drawn for 32 elements at a time, eight blocks as vectors.
#include "runtime/math/ops/dropout.h"

#include <algorithm>
#include <array>

#include "runtime/core/counter_rng.h"
#include "runtime/math/elements/dropout.h"
#include "runtime/math/ops/cpu/philox_lanes.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::uint64_t blocks_at_once = 8;
using Factors = std::array<float, 4 * blocks_at_once>;

// Of the elements of eight blocks: `factor` where a word is `threshold` or more, else 0.
void draw_factors(const PhiloxStream& stream, std::uint64_t first_block, std::uint64_t threshold,
                  float factor, Factors& factors) {
  const PhiloxLanes lanes = philox_lanes(stream, first_block);
  const __m256i least = _mm256_set1_epi32(static_cast<std::int32_t>(threshold));
  // No word reaches 2^32.
  const __m256 kept = _mm256_set1_ps(threshold >> 32 != 0 ? 0.0F : factor);
  __m256 of[4];
  for (int word = 0; word < 4; ++word) {
    const __m256i words = lanes.word[word];
    const __m256i keeps = _mm256_cmpeq_epi32(_mm256_max_epu32(words, least), words);
    of[word] = _mm256_and_ps(_mm256_castsi256_ps(keeps), kept);
  }
  // The words of a block side by side: of blocks 0 and 4, 1 and 5, 2 and 6, 3 and 7.
  const __m256 first_low = _mm256_unpacklo_ps(of[0], of[1]);
  const __m256 first_high = _mm256_unpackhi_ps(of[0], of[1]);
  const __m256 last_low = _mm256_unpacklo_ps(of[2], of[3]);
  const __m256 last_high = _mm256_unpackhi_ps(of[2], of[3]);
  const __m256 blocks[4] = {_mm256_shuffle_ps(first_low, last_low, 0x44),
                            _mm256_shuffle_ps(first_low, last_low, 0xEE),
                            _mm256_shuffle_ps(first_high, last_high, 0x44),
                            _mm256_shuffle_ps(first_high, last_high, 0xEE)};
  _mm256_storeu_ps(factors.data(), _mm256_permute2f128_ps(blocks[0], blocks[1], 0x20));
  _mm256_storeu_ps(factors.data() + 8, _mm256_permute2f128_ps(blocks[2], blocks[3], 0x20));
  _mm256_storeu_ps(factors.data() + 16, _mm256_permute2f128_ps(blocks[0], blocks[1], 0x31));
  _mm256_storeu_ps(factors.data() + 24, _mm256_permute2f128_ps(blocks[2], blocks[3], 0x31));
}

// Calls visit(at, count, factors) for some of the elements `first`, `first` + 1, .. at a time.
template <class Visit>
void for_factors(const Dropout& dropout, std::uint64_t first, std::uint64_t elements, Visit visit) {
  ENSURE(dropout.rate >= 0 && dropout.rate < 1);
  const PhiloxStream stream{.stream = static_cast<std::uint32_t>(RngStream::dropout),
                            .substream = dropout.layer,
                            .seed = dropout.seed};
  const std::uint64_t threshold = dropout_threshold(dropout.rate);
  const float factor = dropout_factor(dropout.rate);
  Factors factors{};
  for (std::uint64_t at = 0; at < elements;) {
    const std::uint64_t number = first + at;
    draw_factors(stream, number / 4, threshold, factor, factors);
    const std::uint64_t skipped = number % 4;  // the first may lie within a block
    const std::uint64_t count = std::min(elements - at, 4 * blocks_at_once - skipped);
    visit(at, count, factors.data() + skipped);
    at += count;
  }
}

template <Write write>
void drop(const Dropout& dropout, ConstTensor from, Tensor to) {
  ENSURE(from.shape == to.shape);
  const auto elements = static_cast<std::uint64_t>(from.elements());
  if (elements == 0) return;
  const std::uint64_t each = elements / static_cast<std::uint64_t>(from.shape[0]);
  const std::uint64_t stride = dropout.stride == 0 ? each : dropout.stride;
  ENSURE(stride >= each);
  // Of examples that lie side by side in the line all at once.
  const std::uint64_t piece = stride == each ? elements : each;
  for (std::uint64_t begin = 0; begin < elements; begin += piece) {
    const std::uint64_t position = dropout.first_position + begin / each;
    for_factors(dropout, position * stride, piece,
                [&](std::uint64_t offset, std::uint64_t count, const float* factors) {
                  const std::uint64_t at = begin + offset;
#pragma GCC ivdep
                  for (std::uint64_t i = 0; i < count; ++i) {
                    const float value = factors[i] * from.data[at + i];
                    to.data[at + i] = write == Write::add ? to.data[at + i] + value : value;
                  }
                });
  }
}

}  // namespace

void dropout_factors(const Dropout& dropout, std::uint64_t first, std::span<float> factors) {
  for_factors(dropout, first, factors.size(),
              [&](std::uint64_t at, std::uint64_t count, const float* drawn) {
                std::copy_n(drawn, count, factors.data() + at);
              });
}

void drop_out(const Dropout& dropout, ConstTensor x, Tensor y) {
  drop<Write::overwrite>(dropout, x, y);
}

void drop_out_gradient(const Dropout& dropout, ConstTensor y_gradient, Tensor x_gradient,
                       Write write) {
  if (write == Write::add) return drop<Write::add>(dropout, y_gradient, x_gradient);
  drop<Write::overwrite>(dropout, y_gradient, x_gradient);
}

}  // namespace trainyard::runtime
