// As in gemm_tile.cpp, the loops over the depth are exempt from sanitizers.
#include "runtime/math/ops/cpu/planar_tile.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "runtime/math/avx512.h"
#include "runtime/math/ops/cpu/transpose.h"

#define TRAINYARD_UNCHECKED gnu::no_sanitize("address", "undefined")

namespace trainyard::runtime {
namespace {

constexpr int panel_width = 8;
constexpr int vector_max = 16;

// By group, then by column, then by pixel.
struct PlanarSums {
  alignas(64) float of[4 * panel_width * vector_max];
};

constexpr std::int64_t sums_at(std::int64_t group, std::int64_t column) {
  return (group * panel_width + column) * vector_max;
}

template <int columns, int groups>
[[TRAINYARD_UNCHECKED]] void planar_avx2(const TapTile& tile, PlanarSums& sums) {
  __m256 sum[columns][groups];
#pragma GCC unroll 6
  for (int column = 0; column < columns; ++column) {
#pragma GCC unroll 4
    for (int group = 0; group < groups; ++group) sum[column][group] = _mm256_setzero_ps();
  }
  const float* right = tile.right;
  const std::int64_t* const end = tile.offsets + tile.depth;
  for (const std::int64_t* offset = tile.offsets; offset != end; ++offset) {
    __m256 pixels[groups];
#pragma GCC unroll 4
    for (int group = 0; group < groups; ++group) {
      pixels[group] = _mm256_loadu_ps(tile.group[group] + *offset);
    }
#pragma GCC unroll 6
    for (int column = 0; column < columns; ++column) {
      const __m256 factor = _mm256_broadcast_ss(right + column);
#pragma GCC unroll 4
      for (int group = 0; group < groups; ++group) {
        sum[column][group] = _mm256_fmadd_ps(factor, pixels[group], sum[column][group]);
      }
    }
    right += panel_width;
  }
#pragma GCC unroll 6
  for (int column = 0; column < columns; ++column) {
#pragma GCC unroll 4
    for (int group = 0; group < groups; ++group) {
      _mm256_store_ps(sums.of + sums_at(group, column), sum[column][group]);
    }
  }
}

template <int columns, int groups>
[[TRAINYARD_AVX512, TRAINYARD_UNCHECKED]] void planar_avx512(const TapTile& tile,
                                                             PlanarSums& sums) {
  __m512 sum[columns][groups];
#pragma GCC unroll 6
  for (int column = 0; column < columns; ++column) {
#pragma GCC unroll 4
    for (int group = 0; group < groups; ++group) sum[column][group] = _mm512_setzero_ps();
  }
  const float* right = tile.right;
  const std::int64_t* const end = tile.offsets + tile.depth;
  for (const std::int64_t* offset = tile.offsets; offset != end; ++offset) {
    __m512 pixels[groups];
#pragma GCC unroll 4
    for (int group = 0; group < groups; ++group) {
      pixels[group] = _mm512_loadu_ps(tile.group[group] + *offset);
    }
#pragma GCC unroll 6
    for (int column = 0; column < columns; ++column) {
      const __m512 factor = _mm512_set1_ps(right[column]);
#pragma GCC unroll 4
      for (int group = 0; group < groups; ++group) {
        sum[column][group] = _mm512_fmadd_ps(factor, pixels[group], sum[column][group]);
      }
    }
    right += panel_width;
  }
  // Not _mm512_store_ps: GCC bug 110027, see gemm_tile.cpp.
#pragma GCC unroll 6
  for (int column = 0; column < columns; ++column) {
#pragma GCC unroll 4
    for (int group = 0; group < groups; ++group) {
      _mm512_storeu_ps(sums.of + sums_at(group, column), sum[column][group]);
    }
  }
}

// The columns of a pixel, added to their base.
void store_columns(__m256 value, const float* base, const TapTarget& target, float* to) {
  if (base != nullptr) {
    value = _mm256_add_ps(_mm256_maskload_ps(base, lanes_below(target.columns)), value);
  }
  if (target.finish == Finish::relu) value = _mm256_max_ps(_mm256_setzero_ps(), value);
  store_first(value, target.columns, to);
}

void store_pixels(const PlanarSums& sums, std::int64_t groups, const TapTarget& target) {
  for (std::int64_t group = 0; group < groups; ++group) {
    for (std::int64_t first = 0; first < target.count[group]; first += 8) {
      Square columns;
      for (std::int64_t i = 0; i < panel_width; ++i) {
        columns.row[i] = i < target.columns ? _mm256_load_ps(sums.of + sums_at(group, i) + first)
                                            : _mm256_setzero_ps();
      }
      const Square pixels = transposed(columns);
      const std::int64_t count = std::min<std::int64_t>(8, target.count[group] - first);
      for (std::int64_t i = 0; i < count; ++i) {
        float* const to = target.group[group] + (first + i) * target.row_stride;
        store_columns(pixels.row[i], base_of(target, to), target, to);
      }
    }
  }
}

using PlanarGather = void (*)(const TapTile&, PlanarSums&);

// By (columns - 1) * most groups + groups - 1.
template <int most, std::size_t... at>
constexpr std::array<PlanarGather, sizeof...(at)> planar_gathers_avx2(std::index_sequence<at...>) {
  return {planar_avx2<static_cast<int>(at) / most + 1, static_cast<int>(at) % most + 1>...};
}
template <int most, std::size_t... at>
constexpr std::array<PlanarGather, sizeof...(at)> planar_gathers_avx512(
    std::index_sequence<at...>) {
  return {planar_avx512<static_cast<int>(at) / most + 1, static_cast<int>(at) % most + 1>...};
}

template <class Tile>
void multiply_planar(std::span<const PlanarGather> gathers, const TapTile& tile,
                     const TapTarget& target) {
  PlanarSums sums;
  const std::int64_t which = (target.columns - 1) * Tile::groups + tile.groups - 1;
  gathers[static_cast<std::size_t>(which)](tile, sums);
  store_pixels(sums, tile.groups, target);
}

}  // namespace

void Avx2PlanarTile::multiply(const TapTile& tile, const TapTarget& target) {
  static constexpr auto gathers =
      planar_gathers_avx2<groups>(std::make_index_sequence<planar_columns_max * groups>());
  multiply_planar<Avx2PlanarTile>(gathers, tile, target);
}

void Avx512PlanarTile::multiply(const TapTile& tile, const TapTarget& target) {
  static constexpr auto gathers =
      planar_gathers_avx512<groups>(std::make_index_sequence<planar_columns_max * groups>());
  multiply_planar<Avx512PlanarTile>(gathers, tile, target);
}

}  // namespace trainyard::runtime
