#include "runtime/math/ops/cpu/gemm_pack.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "runtime/math/ops/cpu/gemm_tile.h"
#include "runtime/math/ops/cpu/transpose.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t lane = pack_lane;
constexpr std::int64_t line = 16;  // floats of a cache line
constexpr std::int64_t rows_ahead = 2;
constexpr std::int64_t steps_ahead = 32;
constexpr std::int64_t squares_max = 4;  // side by side in the widest panel

void pack_one_by_one(const Strip& strip, std::int64_t width, std::int64_t first_step,
                     float* panel) {
  for (std::int64_t step = first_step; step < strip.depth; ++step) {
    for (std::int64_t i = 0; i < width; ++i) {
      panel[step * width + i] =
          i < strip.count ? strip.from[i * strip.across + step * strip.along] : 0.0F;
    }
  }
}

// Values of a step lie side by side, and the matrix has all of them. A step's last vector may be
// written beyond it: the next step comes after it.
void pack_adjacent(const Strip& strip, std::int64_t width, float* panel) {
  // Vectors may read beyond the panel's own values, but not beyond the matrix: the last steps are
  // packed one by one.
  const std::int64_t unsafe = width % lane == 0 ? 0 : (2 * lane + strip.along - 1) / strip.along;
  const std::int64_t whole = std::max<std::int64_t>(0, strip.depth - unsafe);
  const float* from = strip.from;
  for (std::int64_t step = 0; step < whole; ++step, from += strip.along) {
    for (std::int64_t i = 0; i < width; i += lane) {
      _mm256_storeu_ps(panel + step * width + i, _mm256_loadu_ps(from + i));
    }
  }
  pack_one_by_one(strip, width, whole, panel);
}

// Values of a step lie side by side, and the matrix has some of them.
void pack_some(const Strip& strip, std::int64_t width, float* panel) {
  const float* from = strip.from;
  for (std::int64_t step = 0; step < strip.depth; ++step, from += strip.along) {
    for (std::int64_t i = 0; i < width; i += lane) {
      const __m256i lanes = lanes_below(strip.count - i);
      _mm256_storeu_ps(panel + step * width + i, _mm256_maskload_ps(from + i, lanes));
    }
  }
}

// Steps lie side by side.
void pack_across(const Strip& strip, std::int64_t width, float* panel) {
  const std::int64_t squares = (width + lane - 1) / lane;
  const std::int64_t whole = strip.depth / lane * lane;
  for (std::int64_t step = 0; step < whole; step += lane) {
    // There are more rows than the processor's own prefetching follows at once.
    const float* const ahead = strip.from + std::min(step + steps_ahead, strip.depth - 1);
    Square steps[squares_max];
    for (std::int64_t square = 0; square < squares; ++square) {
      Square rows;
      for (std::int64_t i = 0; i < lane; ++i) {
        const std::int64_t value = square * lane + i;
        if (value < strip.count) _mm_prefetch(ahead + value * strip.across, _MM_HINT_T0);
        rows.row[i] = value < strip.count
                          ? _mm256_loadu_ps(strip.from + value * strip.across + step)
                          : _mm256_setzero_ps();
      }
      steps[square] = transposed(rows);
    }
    for (std::int64_t i = 0; i < lane; ++i) {
      for (std::int64_t square = 0; square < squares; ++square) {
        _mm256_storeu_ps(panel + (step + i) * width + square * lane, steps[square].row[i]);
      }
    }
  }
  pack_one_by_one(strip, width, whole, panel);
}

// Of memcpy g++ makes copies of 16 bytes.
template <std::int64_t width>
void copy_step(const float* from, float* to) {
  constexpr std::int64_t whole = width / lane * lane;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < whole; i += lane) {
    _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i));
  }
  if constexpr (width > whole) {
    std::memcpy(to + whole, from + whole, (width - whole) * sizeof(float));
  }
}

template <std::int64_t width>
void pack_rows_of(const Strip& strip, std::int64_t panels, float* first) {
  const std::int64_t panel_size = width * strip.depth;
  const float* from = strip.from;
  float* to = first;
  for (std::int64_t step = 0; step < strip.depth; ++step) {
    const float* row = from;
    // Each row begins in another page, where the processor's own prefetching begins anew.
    const std::int64_t ahead = std::min(rows_ahead, strip.depth - 1 - step) * strip.along;
    for (std::int64_t panel = 0; panel < panels; ++panel, row += width) {
      for (std::int64_t i = 0; i < width; i += line) _mm_prefetch(row + ahead + i, _MM_HINT_T0);
      copy_step<width>(row, to + panel * panel_size);
    }
    from += strip.along;
    to += width;
  }
}

}  // namespace

void pack(const Strip& strip, std::int64_t width, float* panel) {
  if (strip.along == 1) {
    pack_across(strip, width, panel);
  } else if (strip.count == width) {
    pack_adjacent(strip, width, panel);
  } else if (strip.across == 1 && width % lane == 0) {
    pack_some(strip, width, panel);
  } else {
    pack_one_by_one(strip, width, 0, panel);
  }
}

void pack_rows(const Strip& strip, std::int64_t panels, std::int64_t width, float* first) {
  switch (width) {
    case Avx2Tile::rows: return pack_rows_of<Avx2Tile::rows>(strip, panels, first);
    case Avx2Tile::columns: return pack_rows_of<Avx2Tile::columns>(strip, panels, first);
    case Avx512Tile::rows: return pack_rows_of<Avx512Tile::rows>(strip, panels, first);
    case Avx512Tile::columns: return pack_rows_of<Avx512Tile::columns>(strip, panels, first);
    default: ENSURE(false);
  }
}

}  // namespace trainyard::runtime
