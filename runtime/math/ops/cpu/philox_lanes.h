// Philox4x32-10 (runtime/core/counter_rng.h) of eight neighbouring positions at a time.
#pragma once

#include <immintrin.h>

#include <array>
#include <cstdint>

namespace trainyard::runtime {

// The words of the counter that do not depend on the position, and the key.
struct PhiloxStream {
  std::uint32_t stream = 0;
  std::uint32_t substream = 0;
  std::uint64_t seed = 0;
};

// word[w] lane i: word w of the block at first + i.
struct PhiloxLanes {
  __m256i word[4];
};

namespace internal {

struct Products {
  __m256i low;
  __m256i high;
};

inline Products multiply_words(__m256i words, std::uint32_t factor) {
  const __m256i by = _mm256_set1_epi32(static_cast<std::int32_t>(factor));
  const __m256i even = _mm256_mul_epu32(words, by);
  const __m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(words, 32), by);
  constexpr int odd_words = 0xAA;
  return {_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), odd_words),
          _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, odd_words)};
}

inline __m256i all_lanes(std::uint32_t word) {
  return _mm256_set1_epi32(static_cast<std::int32_t>(word));
}

}  // namespace internal

inline PhiloxLanes philox_lanes(const PhiloxStream& of, std::uint64_t first) {
  using internal::all_lanes;
  alignas(32) std::array<std::uint32_t, 8> low;   // NOLINT: written below
  alignas(32) std::array<std::uint32_t, 8> high;  // NOLINT
  for (std::uint64_t lane = 0; lane < low.size(); ++lane) {
    low[lane] = static_cast<std::uint32_t>(first + lane);
    high[lane] = static_cast<std::uint32_t>((first + lane) >> 32);
  }
  __m256i a = _mm256_load_si256(reinterpret_cast<const __m256i*>(low.data()));
  __m256i b = _mm256_load_si256(reinterpret_cast<const __m256i*>(high.data()));
  __m256i c = all_lanes(of.stream);
  __m256i d = all_lanes(of.substream);
  auto key_low = static_cast<std::uint32_t>(of.seed);
  auto key_high = static_cast<std::uint32_t>(of.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const internal::Products left = internal::multiply_words(a, 0xD2511F53);
    const internal::Products right = internal::multiply_words(c, 0xCD9E8D57);
    a = _mm256_xor_si256(_mm256_xor_si256(right.high, b), all_lanes(key_low));
    b = right.low;
    c = _mm256_xor_si256(_mm256_xor_si256(left.high, d), all_lanes(key_high));
    d = left.low;
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  return {{a, b, c, d}};
}

}  // namespace trainyard::runtime
