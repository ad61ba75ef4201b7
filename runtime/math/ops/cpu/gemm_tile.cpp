// Sanitizers would take most of a test run for checking what the callers made sure of: panels hold
// what `depth` says. So the loops over the depth, and what ends them, are exempt.
#include "runtime/math/ops/cpu/gemm_tile.h"

#include <immintrin.h>

#include <algorithm>

#include "runtime/math/avx512.h"

#define TRAINYARD_UNCHECKED gnu::no_sanitize("address", "undefined")

namespace trainyard::runtime {
namespace {

constexpr int rows_max = 12;
constexpr int columns_max = 32;

// The sums of a tile, row by row.
struct Sums {
  alignas(64) float of[rows_max * columns_max];
};

[[gnu::always_inline]] inline const float* base_of(const Target& target, std::int64_t row) {
  return target.base == nullptr ? nullptr : target.base + row * target.base_stride;
}

// Of a tile that has all its rows and columns each loop below writes the sums where they go. Of
// others it leaves them in `sums`, to which they are copied at the end: what has an address does
// not stay in registers. Under the address sanitizer all go that way, as what writes there is
// checked.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool writes_whole_tiles = false;
#else
constexpr bool writes_whole_tiles = true;
#endif

constexpr std::int64_t line_elements = 16;  // of a cache line

struct Nothing {
  void after_step() {}
};

template <std::int64_t columns>
class Copying {
 public:
  Copying(const PanelCopy& copy, std::int64_t depth)
      : copy_(copy),
        every_(depth / std::max<std::int64_t>(1, copy.steps)),
        until_next_(every_),
        left_(copy.steps) {}

  // Steps lie in pages of their own, where the processor's own prefetching begins anew.
  [[gnu::always_inline, TRAINYARD_UNCHECKED]] void after_step() {
    if (--until_next_ > 0 || left_ == 0) return;
    until_next_ = every_;
    const float* const from = copy_.from + (copy_.steps - left_) * copy_.stride;
    float* const to = copy_.to + (copy_.steps - left_) * columns;
    --left_;
#pragma GCC unroll 4
    for (std::int64_t i = 0; i < columns; i += 8) {
      _mm256_storeu_ps(to + i, _mm256_loadu_ps(from + i));
    }
    const float* const ahead = from + std::min(steps_ahead, left_) * copy_.stride;
    const float* const far = from + std::min(steps_far, left_ + copy_.steps_behind) * copy_.stride;
#pragma GCC unroll 2
    for (std::int64_t i = 0; i < columns; i += line_elements) {
      __builtin_prefetch(ahead + i);
      __builtin_prefetch(far + i, 0, second_cache);
    }
  }

 private:
  static constexpr int second_cache = 2;  // as __builtin_prefetch() counts
  // Steps that lie 4 or 8 KiB apart share few places of the first cache: more of them there would
  // take each other's. 128 x 2048 x 2048 from memory, on a Xeon: 4 there and none far 120 GFLOP/s,
  // 8 and none 113, 4 and 12 or 24 far 148, 4 and 48 far 141.
  static constexpr std::int64_t steps_ahead = 4;
  static constexpr std::int64_t steps_far = 12;

  PanelCopy copy_;
  std::int64_t every_;
  std::int64_t until_next_;
  std::int64_t left_;
};

class Fetching {
 public:
  Fetching(const RowFetch& fetch, std::int64_t depth) : fetch_(fetch), depth_(depth) {}

  [[gnu::always_inline, TRAINYARD_UNCHECKED]] void after_step() {
    if (row_ == fetch_.rows) return;
    __builtin_prefetch(fetch_.from + row_ * fetch_.stride + at_);
    at_ += line_elements;
    if (at_ < depth_) return;
    at_ = 0;
    ++row_;
  }

 private:
  RowFetch fetch_;
  std::int64_t depth_;
  std::int64_t row_ = 0;
  std::int64_t at_ = 0;
};

// Asks for what the next tile will write while this one's sums are made: for a line after every few
// steps, as a processor can have a dozen or so on their way.
template <int rows, int row_lines>
class NextLines {
 public:
  NextLines(const Target& target, std::int64_t depth)
      : next_(target.next),
        stride_(target.stride),
        next_lines_(target.next_rows * row_lines),
        depth_(depth) {}

  static constexpr int lines = rows * row_lines;

  [[gnu::always_inline]] void ask_for(int line) const {
    if (line >= next_lines_) return;
    __builtin_prefetch(next_ + line / row_lines * stride_ + line % row_lines * line_elements, 1);
  }
  // Where the steps end that come before the line behind this one is asked for.
  [[nodiscard]] std::int64_t steps_end(int line) const { return (line + 1) * depth_ / lines; }

 private:
  const float* next_;
  std::int64_t stride_;
  std::int64_t next_lines_;
  std::int64_t depth_;
};

template <int rows, int vectors, class Aside>
[[TRAINYARD_UNCHECKED]] bool sum_avx2(const LeftPanel& left, const float* right, std::int64_t depth,
                                      const Target& target, Sums& sums, Aside aside) {
  __m256 sum[rows][vectors];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[row][v] = _mm256_setzero_ps();
  }
  const float* from = left.data;
  const std::int64_t row_stride = left.row_stride;
  const std::int64_t depth_stride = left.depth_stride;
  const NextLines<rows, (8 * vectors + line_elements - 1) / line_elements> next(target, depth);
  std::int64_t step = 0;
  for (int line = 0; line < next.lines; ++line) {
    next.ask_for(line);
    for (const std::int64_t end = next.steps_end(line); step < end; ++step) {
      __m256 columns[vectors];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) columns[v] = _mm256_load_ps(right + 8 * v);
#pragma GCC unroll 12
      for (int row = 0; row < rows; ++row) {
        const __m256 factor = _mm256_broadcast_ss(from + row * row_stride);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
          sum[row][v] = _mm256_fmadd_ps(factor, columns[v], sum[row][v]);
        }
      }
      from += depth_stride;
      aside.after_step();
      right += 8 * vectors;
    }
  }
  if (writes_whole_tiles && target.rows == rows && target.columns == 8 * vectors) {
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) {
      float* const to = target.data + row * target.stride;
      const float* const base = base_of(target, row);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const __m256 result = base == nullptr
                                  ? sum[row][v]
                                  : _mm256_add_ps(_mm256_loadu_ps(base + 8 * v), sum[row][v]);
        _mm256_storeu_ps(to + 8 * v, result);
      }
    }
    return true;
  }
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      _mm256_store_ps(sums.of + row * columns_max + 8 * v, sum[row][v]);
    }
  }
  return false;
}

template <int rows, int vectors, class Aside>
[[TRAINYARD_AVX512, TRAINYARD_UNCHECKED]] bool sum_avx512(const LeftPanel& left, const float* right,
                                                          std::int64_t depth, const Target& target,
                                                          Sums& sums, Aside aside) {
  __m512 sum[rows][vectors];
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[row][v] = _mm512_setzero_ps();
  }
  // Of each four rows: an address for each row takes more registers than there are.
  const std::int64_t row_stride = left.row_stride;
  const std::int64_t depth_stride = left.depth_stride;
  const float* from[rows / 4];
#pragma GCC unroll 3
  for (int four = 0; four < rows / 4; ++four) from[four] = left.data + 4 * four * row_stride;
  const NextLines<rows, vectors> next(target, depth);
  std::int64_t step = 0;
  for (int line = 0; line < next.lines; ++line) {
    next.ask_for(line);
    for (const std::int64_t end = next.steps_end(line); step < end; ++step) {
      __m512 columns[vectors];
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) columns[v] = _mm512_loadu_ps(right + 16 * v);
#pragma GCC unroll 12
      for (int row = 0; row < rows; ++row) {
        const __m512 factor = _mm512_set1_ps(from[row / 4][row % 4 * row_stride]);
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
          sum[row][v] = _mm512_fmadd_ps(factor, columns[v], sum[row][v]);
        }
      }
#pragma GCC unroll 3
      for (int four = 0; four < rows / 4; ++four) from[four] += depth_stride;
      aside.after_step();
      right += 16 * vectors;
    }
  }
  if (writes_whole_tiles && target.rows == rows && target.columns == 16 * vectors) {
#pragma GCC unroll 12
    for (int row = 0; row < rows; ++row) {
      float* const to = target.data + row * target.stride;
      const float* const base = base_of(target, row);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const __m512 result = base == nullptr
                                  ? sum[row][v]
                                  : _mm512_add_ps(_mm512_loadu_ps(base + 16 * v), sum[row][v]);
        _mm512_storeu_ps(to + 16 * v, result);
      }
    }
    return true;
  }
  // Not _mm512_store_ps: under the address sanitizer g++ 12 puts `sums` on a stack of its own, at a
  // multiple of 32 bytes only (GCC bug 110027). Where they are aligned it takes as long.
#pragma GCC unroll 12
  for (int row = 0; row < rows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      _mm512_storeu_ps(sums.of + row * columns_max + 16 * v, sum[row][v]);
    }
  }
  return false;
}

// Writes the sums that a tile has left in `sums`.
void store(const Sums& sums, const Target& target) {
  for (std::int64_t row = 0; row < target.rows; ++row) {
    const float* const from = sums.of + row * columns_max;
    const float* const base = base_of(target, row);
    float* const to = target.data + row * target.stride;
    for (std::int64_t column = 0; column < target.columns; ++column) {
      to[column] = base == nullptr ? from[column] : base[column] + from[column];
    }
  }
}

// Whether the sums were written; else they are in Sums.
using Sum = bool (*)(const LeftPanel&, const float*, std::int64_t, const Target&, Sums&, Nothing);

// A whole tile that does something beside its sums.
template <auto sum, class Aside>
void multiply_whole(const LeftPanel& left, const float* right, std::int64_t depth,
                    const Target& target, const Aside& aside) {
  Sums sums;
  if (!sum(left, right, depth, target, sums, aside)) store(sums, target);
}

}  // namespace

void Avx2Tile::multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                        const Target& target) {
  static constexpr Sum narrow[] = {sum_avx2<2, 1, Nothing>, sum_avx2<4, 1, Nothing>,
                                   sum_avx2<6, 1, Nothing>};
  static constexpr Sum wide[] = {sum_avx2<2, 2, Nothing>, sum_avx2<4, 2, Nothing>,
                                 sum_avx2<6, 2, Nothing>};
  Sums sums;
  const Sum* const heights = target.columns > 8 ? wide : narrow;
  if (!heights[(target.rows - 1) / 2](left, right, depth, target, sums, {})) store(sums, target);
}

void Avx512Tile::multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                          const Target& target) {
  static constexpr Sum narrowest[] = {sum_avx2<4, 1, Nothing>, sum_avx2<8, 1, Nothing>,
                                      sum_avx2<12, 1, Nothing>};
  static constexpr Sum narrow[] = {sum_avx512<4, 1, Nothing>, sum_avx512<8, 1, Nothing>,
                                   sum_avx512<12, 1, Nothing>};
  static constexpr Sum wide[] = {sum_avx512<4, 2, Nothing>, sum_avx512<8, 2, Nothing>,
                                 sum_avx512<12, 2, Nothing>};
  Sums sums;
  const Sum* const heights = target.columns > 16 ? wide : target.columns > 8 ? narrow : narrowest;
  if (!heights[(target.rows - 1) / 4](left, right, depth, target, sums, {})) store(sums, target);
}

void Avx2Tile::multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                        const Target& target, const PanelCopy& copy) {
  using Aside = Copying<columns>;
  multiply_whole<sum_avx2<rows, 2, Aside>>(left, right, depth, target, Aside(copy, depth));
}

void Avx2Tile::multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                        const Target& target, const RowFetch& fetch) {
  using Aside = Fetching;
  multiply_whole<sum_avx2<rows, 2, Aside>>(left, right, depth, target, Aside(fetch, depth));
}

void Avx512Tile::multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                          const Target& target, const PanelCopy& copy) {
  using Aside = Copying<columns>;
  multiply_whole<sum_avx512<rows, 2, Aside>>(left, right, depth, target, Aside(copy, depth));
}

void Avx512Tile::multiply(const LeftPanel& left, const float* right, std::int64_t depth,
                          const Target& target, const RowFetch& fetch) {
  using Aside = Fetching;
  multiply_whole<sum_avx512<rows, 2, Aside>>(left, right, depth, target, Aside(fetch, depth));
}

}  // namespace trainyard::runtime
