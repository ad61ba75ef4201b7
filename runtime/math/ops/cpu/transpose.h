// Eight rows of eight floats, turned, and the first few floats of a vector.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstdint>

namespace trainyard::runtime {

struct Square {
  __m256 row[8];
};

inline Square transposed(const Square& of) {
  Square pairs;  // within halves of 128 bits: (0, 1), (2, 3), (4, 5), (6, 7) interleaved
  for (int i = 0; i < 8; i += 2) {
    pairs.row[i] = _mm256_unpacklo_ps(of.row[i], of.row[i + 1]);
    pairs.row[i + 1] = _mm256_unpackhi_ps(of.row[i], of.row[i + 1]);
  }
  Square fours;  // rows 0..3, then 4..7
  for (int i = 0; i < 8; i += 4) {
    fours.row[i] = _mm256_shuffle_ps(pairs.row[i], pairs.row[i + 2], 0x44);
    fours.row[i + 1] = _mm256_shuffle_ps(pairs.row[i], pairs.row[i + 2], 0xEE);
    fours.row[i + 2] = _mm256_shuffle_ps(pairs.row[i + 1], pairs.row[i + 3], 0x44);
    fours.row[i + 3] = _mm256_shuffle_ps(pairs.row[i + 1], pairs.row[i + 3], 0xEE);
  }
  Square result;
  for (int i = 0; i < 4; ++i) {
    result.row[i] = _mm256_permute2f128_ps(fours.row[i], fours.row[i + 4], 0x20);
    result.row[i + 4] = _mm256_permute2f128_ps(fours.row[i], fours.row[i + 4], 0x31);
  }
  return result;
}

// The first `count` lanes, 8 where there are more: for masked loads.
inline __m256i lanes_below(std::int64_t count) {
  alignas(32) static constexpr std::int32_t lanes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  const std::int64_t some = std::clamp<std::int64_t>(count, 0, 8);
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(lanes + 8 - some));
}

// Masked stores take twenty cycles on some processors.
inline void store_first(__m256 value, std::int64_t count, float* to) {
  if (count >= 8) {
    _mm256_storeu_ps(to, value);
    return;
  }
  __m128 rest = _mm256_castps256_ps128(value);
  if ((count & 4) != 0) {
    _mm_storeu_ps(to, rest);
    to += 4;
    rest = _mm256_extractf128_ps(value, 1);
  }
  if ((count & 2) != 0) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), rest);
    to += 2;
    rest = _mm_movehl_ps(rest, rest);
  }
  if ((count & 1) != 0) _mm_store_ss(to, rest);
}

}  // namespace trainyard::runtime
