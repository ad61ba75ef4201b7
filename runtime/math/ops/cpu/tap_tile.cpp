// As in gemm_tile.cpp, the loops over the depth are exempt from sanitizers: an image in scratch has
// room for what the last rows of a group read beyond its pixels.
#include "runtime/math/ops/cpu/tap_tile.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/math/avx512.h"
#include "runtime/math/ops/cpu/transpose.h"

#define TRAINYARD_UNCHECKED gnu::no_sanitize("address", "undefined")

namespace trainyard::runtime {
namespace {

constexpr int tap_rows_max = 12;
constexpr int tap_columns_max = 32;

// The sums of a tile, row by row.
struct TapSums {
  alignas(64) float of[tap_rows_max * tap_columns_max];
};

// A tile whose rows and columns are all there is stored from the registers; of another one the sums
// are left for store_sums.
template <int groups, int height, int vectors>
[[TRAINYARD_UNCHECKED]] void gather_avx2(const TapTile& tile, const TapTarget* whole,
                                         TapSums& sums) {
  __m256 sum[groups * height][vectors];
#pragma GCC unroll 12
  for (int row = 0; row < groups * height; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[row][v] = _mm256_setzero_ps();
  }
  const float* right = tile.right;
  const std::int64_t row_stride = tile.row_stride;
  const std::int64_t* const end = tile.offsets + tile.depth;
  for (const std::int64_t* offset = tile.offsets; offset != end; ++offset) {
    __m256 columns[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) columns[v] = _mm256_load_ps(right + 8 * v);
#pragma GCC unroll 6
    for (int group = 0; group < groups; ++group) {
      const float* const from = tile.group[group] + *offset;
#pragma GCC unroll 4
      for (int row = 0; row < height; ++row) {
        const __m256 factor = _mm256_broadcast_ss(from + row * row_stride);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
          sum[group * height + row][v] =
              _mm256_fmadd_ps(factor, columns[v], sum[group * height + row][v]);
        }
      }
    }
    right += 8 * vectors;
  }
  if (whole != nullptr) {
    const __m256 zero = _mm256_setzero_ps();
#pragma GCC unroll 12
    for (int row = 0; row < groups * height; ++row) {
      float* const to = whole->group[row / height] + row % height * whole->row_stride;
      const float* const base = base_of(*whole, to);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        __m256 value = sum[row][v];
        if (base != nullptr) value = _mm256_add_ps(_mm256_loadu_ps(base + 8 * v), value);
        if (whole->finish == Finish::relu) value = _mm256_max_ps(zero, value);  // NaN stays
        _mm256_storeu_ps(to + 8 * v, value);
      }
    }
    return;
  }
#pragma GCC unroll 12
  for (int row = 0; row < groups * height; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      _mm256_store_ps(sums.of + row * tap_columns_max + 8 * v, sum[row][v]);
    }
  }
}

template <int groups, int height, int vectors>
[[TRAINYARD_AVX512, TRAINYARD_UNCHECKED]] void gather_avx512(const TapTile& tile,
                                                             const TapTarget* whole,
                                                             TapSums& sums) {
  __m512 sum[groups * height][vectors];
#pragma GCC unroll 12
  for (int row = 0; row < groups * height; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[row][v] = _mm512_setzero_ps();
  }
  const float* right = tile.right;
  const std::int64_t row_stride = tile.row_stride;
  const std::int64_t* const end = tile.offsets + tile.depth;
  for (const std::int64_t* offset = tile.offsets; offset != end; ++offset) {
    __m512 columns[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) columns[v] = _mm512_loadu_ps(right + 16 * v);
#pragma GCC unroll 6
    for (int group = 0; group < groups; ++group) {
      const float* const from = tile.group[group] + *offset;
#pragma GCC unroll 4
      for (int row = 0; row < height; ++row) {
        const __m512 factor = _mm512_set1_ps(from[row * row_stride]);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
          sum[group * height + row][v] =
              _mm512_fmadd_ps(factor, columns[v], sum[group * height + row][v]);
        }
      }
    }
    right += 16 * vectors;
  }
  if (whole != nullptr) {
    const __m512 zero = _mm512_setzero_ps();
#pragma GCC unroll 12
    for (int row = 0; row < groups * height; ++row) {
      float* const to = whole->group[row / height] + row % height * whole->row_stride;
      const float* const base = base_of(*whole, to);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        __m512 value = sum[row][v];
        if (base != nullptr) value = _mm512_add_ps(_mm512_loadu_ps(base + 16 * v), value);
        if (whole->finish == Finish::relu) value = _mm512_max_ps(zero, value);  // NaN stays
        _mm512_storeu_ps(to + 16 * v, value);
      }
    }
    return;
  }
  // Not _mm512_store_ps: GCC bug 110027, see gemm_tile.cpp.
#pragma GCC unroll 12
  for (int row = 0; row < groups * height; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      _mm512_storeu_ps(sums.of + row * tap_columns_max + 16 * v, sum[row][v]);
    }
  }
}

// A row of sums, added to its base. Inline, so that a whole row has a length which the compiler
// knows.
template <Finish finish>
[[gnu::always_inline]] inline void store_row(const float* sums, const float* base,
                                             std::int64_t columns, float* to) {
  const __m256 zero = _mm256_setzero_ps();
  for (std::int64_t at = 0; at < columns; at += 8) {
    __m256 value = _mm256_load_ps(sums + at);
    if (base != nullptr) value = _mm256_add_ps(_mm256_loadu_ps(base + at), value);
    if (finish == Finish::relu) value = _mm256_max_ps(zero, value);  // NaN stays
    _mm256_storeu_ps(to + at, value);
  }
}

// The same where the last vector is not whole.
template <Finish finish>
void store_part(const float* sums, const float* base, std::int64_t columns, float* to) {
  const __m256 zero = _mm256_setzero_ps();
  for (std::int64_t at = 0; at < columns; at += 8) {
    __m256 value = _mm256_load_ps(sums + at);
    if (base != nullptr) {
      value = _mm256_add_ps(_mm256_maskload_ps(base + at, lanes_below(columns - at)), value);
    }
    if (finish == Finish::relu) value = _mm256_max_ps(zero, value);
    store_first(value, columns - at, to + at);
  }
}

template <int columns, Finish finish>
void store_rows(const TapSums& sums, std::int64_t groups, std::int64_t height,
                const TapTarget& target) {
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t row = 0; row < target.count[group]; ++row) {
      const float* const from = sums.of + (group * height + row) * tap_columns_max;
      float* const to = target.group[group] + row * target.row_stride;
      const float* const base = base_of(target, to);
      if (target.columns == columns) {
        store_row<finish>(from, base, columns, to);
      } else {
        store_part<finish>(from, base, target.columns, to);
      }
    }
  }
}

template <int columns>
void store_sums(const TapSums& sums, std::int64_t groups, std::int64_t height,
                const TapTarget& target) {
  if (target.finish == Finish::relu) {
    store_rows<columns, Finish::relu>(sums, groups, height, target);
  } else {
    store_rows<columns, Finish::as_it_is>(sums, groups, height, target);
  }
}

using Gather = void (*)(const TapTile&, const TapTarget*, TapSums&);

// Has the tile all of its rows and `columns`?
bool is_whole(const TapTile& tile, const TapTarget& target, std::int64_t height,
              std::int64_t columns) {
  bool whole = target.columns == columns;
  for (std::int64_t group = 0; group < tile.groups; ++group) {
    whole = whole && target.count[group] == height;
  }
  return whole;
}

// Sums by the loop for so many columns, and where they go.
template <int columns>
void multiply_by(Gather gather, std::int64_t height, const TapTile& tile, const TapTarget& target) {
  TapSums sums;
  const bool whole = is_whole(tile, target, height, columns);
  gather(tile, whole ? &target : nullptr, sums);
  if (!whole) store_sums<columns>(sums, tile.groups, height, target);
}

template <int height, int vectors, std::size_t... groups>
constexpr std::array<Gather, sizeof...(groups)> gathers_avx2(std::index_sequence<groups...>) {
  return {gather_avx2<static_cast<int>(groups) + 1, height, vectors>...};
}

template <int height, int vectors, std::size_t... groups>
constexpr std::array<Gather, sizeof...(groups)> gathers_avx512(std::index_sequence<groups...>) {
  return {gather_avx512<static_cast<int>(groups) + 1, height, vectors>...};
}

}  // namespace

void Avx2TapTile::multiply(const TapTile& tile, const TapTarget& target) {
  static constexpr auto narrow = gathers_avx2<height, 1>(std::make_index_sequence<groups>());
  static constexpr auto wide = gathers_avx2<height, 2>(std::make_index_sequence<groups>());
  const auto last = static_cast<std::size_t>(tile.groups - 1);
  if (target.columns > 8) {
    multiply_by<16>(wide[last], height, tile, target);
  } else {
    multiply_by<8>(narrow[last], height, tile, target);
  }
}

template <std::int64_t rows>
void Avx512TapTile<rows>::multiply(const TapTile& tile, const TapTarget& target) {
  static constexpr auto narrowest = gathers_avx2<rows, 1>(std::make_index_sequence<groups>());
  static constexpr auto narrow = gathers_avx512<rows, 1>(std::make_index_sequence<groups>());
  static constexpr auto wide = gathers_avx512<rows, 2>(std::make_index_sequence<groups>());
  const auto last = static_cast<std::size_t>(tile.groups - 1);
  if (target.columns > 16) {
    multiply_by<32>(wide[last], height, tile, target);
  } else if (target.columns > 8) {
    multiply_by<16>(narrow[last], height, tile, target);
  } else {
    multiply_by<8>(narrowest[last], height, tile, target);
  }
}

template struct Avx512TapTile<2>;
template struct Avx512TapTile<4>;

}  // namespace trainyard::runtime
