// Blocking as in K. Goto and R. A. van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008: a block of the right side and one of the left are packed
// so that both stay in the second-level cache; a panel of 16 columns stays in the first while
// panels of 6 rows pass by, and the 6 x 16 sums stay in registers.
#include "runtime/math/ops/cpu/gemm.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "runtime/math/aligned_buffer.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t lane = 8;  // floats in a vector
constexpr std::int64_t tile_rows = 6;
constexpr std::int64_t tile_columns = 2 * lane;
constexpr std::int64_t rows_block = 40 * tile_rows;        // x depth: 300 KiB
constexpr std::int64_t columns_block = 24 * tile_columns;  // x depth: 480 KiB
// Up to so many columns a packed left side is not read often enough to be worth the packing.
constexpr std::int64_t columns_for_packing = 256;

static_assert(rows_block % tile_rows == 0 && columns_block % tile_columns == 0);

using Vector = __m256;

// Eight rows of eight; not in a std::array, whose template argument would lose the vector's
// alignment.
struct Square {
  Vector row[lane];
};

Square transposed(const Square& of) {
  Square pairs;  // within halves of 128 bits: (0, 1), (2, 3), (4, 5), (6, 7) interleaved
  for (int i = 0; i < lane; i += 2) {
    pairs.row[i] = _mm256_unpacklo_ps(of.row[i], of.row[i + 1]);
    pairs.row[i + 1] = _mm256_unpackhi_ps(of.row[i], of.row[i + 1]);
  }
  Square fours;  // rows 0..3, then 4..7
  for (int i = 0; i < lane; i += 4) {
    fours.row[i] = _mm256_shuffle_ps(pairs.row[i], pairs.row[i + 2], 0x44);
    fours.row[i + 1] = _mm256_shuffle_ps(pairs.row[i], pairs.row[i + 2], 0xEE);
    fours.row[i + 2] = _mm256_shuffle_ps(pairs.row[i + 1], pairs.row[i + 3], 0x44);
    fours.row[i + 3] = _mm256_shuffle_ps(pairs.row[i + 1], pairs.row[i + 3], 0xEE);
  }
  Square result;
  for (int i = 0; i < lane / 2; ++i) {
    result.row[i] = _mm256_permute2f128_ps(fours.row[i], fours.row[i + 4], 0x20);
    result.row[i + 4] = _mm256_permute2f128_ps(fours.row[i], fours.row[i + 4], 0x31);
  }
  return result;
}

// --- packing ------------------------------------------------------------------------------------
// A panel holds `width` values for each step of the depth, one step after another; what the matrix
// does not have is zero. `from` is the panel's first value; values of one step are `across` apart,
// steps `along`.

struct Strip {
  const float* from = nullptr;
  std::int64_t across = 0;
  std::int64_t along = 0;
  std::int64_t count = 0;  // values of a step that the matrix has
  std::int64_t depth = 0;
};

void pack_one_by_one(const Strip& strip, std::int64_t width, std::int64_t first_step,
                     float* panel) {
  for (std::int64_t step = first_step; step < strip.depth; ++step) {
    for (std::int64_t i = 0; i < width; ++i) {
      panel[step * width + i] =
          i < strip.count ? strip.from[i * strip.across + step * strip.along] : 0.0F;
    }
  }
}

// Values of a step lie side by side. Writes up to 7 floats beyond the panel.
template <std::int64_t width>
void pack_adjacent(const Strip& strip, float* panel) {
  // Vectors may read beyond the panel's own values, but not beyond the matrix: the last steps,
  // whose row may be its last, are packed one by one.
  const std::int64_t whole =
      std::max<std::int64_t>(0, strip.depth - (strip.along < lane ? lane : 1));
  const float* from = strip.from;
  for (std::int64_t step = 0; step < whole; ++step, from += strip.along) {
    for (std::int64_t i = 0; i < width; i += lane) {
      _mm256_storeu_ps(panel + step * width + i, _mm256_loadu_ps(from + i));
    }
  }
  pack_one_by_one(strip, width, whole, panel);
}

// Steps lie side by side. Writes up to 7 floats beyond the panel.
template <std::int64_t width>
void pack_across(const Strip& strip, float* panel) {
  const std::int64_t whole = strip.depth / lane * lane;
  for (std::int64_t step = 0; step < whole; step += lane) {
    for (std::int64_t first = 0; first < width; first += lane) {
      Square rows;
      for (std::int64_t i = 0; i < lane; ++i) {
        const bool is_there = first + i < std::min(width, strip.count);
        rows.row[i] = is_there ? _mm256_loadu_ps(strip.from + (first + i) * strip.across + step)
                               : _mm256_setzero_ps();
      }
      const Square steps = transposed(rows);
      for (std::int64_t i = 0; i < lane; ++i) {
        _mm256_storeu_ps(panel + (step + i) * width + first, steps.row[i]);
      }
    }
  }
  pack_one_by_one(strip, width, whole, panel);
}

template <std::int64_t width>
void pack(const Strip& strip, float* panel) {
  if (strip.along == 1) {
    pack_across<width>(strip, panel);
  } else if (strip.count == width) {
    pack_adjacent<width>(strip, panel);
  } else {
    pack_one_by_one(strip, width, 0, panel);
  }
}

// --- one tile -----------------------------------------------------------------------------------

// Six rows of the left side.
struct LeftPanel {
  const float* data = nullptr;
  std::int64_t row_stride = 1;
  std::int64_t depth_stride = tile_rows;
};

template <int vectors>
struct Sums {
  Vector of[tile_rows][vectors];
};

// Sanitizers would take most of a test run for checking what its callers made sure of: a panel
// holds what `depth` says.
//
// `sums` is written once, at the end: what has an address is not kept in registers.
template <int vectors>
[[gnu::no_sanitize("address", "undefined")]] void multiply(const LeftPanel& left,
                                                           const float* right, std::int64_t depth,
                                                           Sums<vectors>& sums) {
  Vector sum[tile_rows][vectors];
#pragma GCC unroll 6
  for (int row = 0; row < tile_rows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sum[row][v] = _mm256_setzero_ps();
  }
  const float* from = left.data;
  const std::int64_t row_stride = left.row_stride;
  const std::int64_t depth_stride = left.depth_stride;
  for (std::int64_t step = 0; step < depth; ++step) {
    Vector columns[vectors];
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) columns[v] = _mm256_load_ps(right + v * lane);
#pragma GCC unroll 6
    for (int row = 0; row < tile_rows; ++row) {
      const Vector factor = _mm256_broadcast_ss(from + row * row_stride);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        sum[row][v] = _mm256_fmadd_ps(factor, columns[v], sum[row][v]);
      }
    }
    from += depth_stride;
    right += vectors * lane;
  }
#pragma GCC unroll 6
  for (int row = 0; row < tile_rows; ++row) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) sums.of[row][v] = sum[row][v];
  }
}

// What becomes of the sums: they are added to the row of `bias`, to what is there, or to nothing.
struct Target {
  float* data = nullptr;
  std::int64_t stride = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  const float* bias = nullptr;
  bool adds = false;
};

template <int vectors>
void store_whole(const Sums<vectors>& sums, const Target& target) {
  for (std::int64_t row = 0; row < tile_rows; ++row) {
    float* const to = target.data + row * target.stride;
    for (int v = 0; v < vectors; ++v) {
      const float* const base = target.adds ? to : target.bias;
      const Vector before =
          base == nullptr ? _mm256_setzero_ps() : _mm256_loadu_ps(base + v * lane);
      _mm256_storeu_ps(to + v * lane, _mm256_add_ps(before, sums.of[row][v]));
    }
  }
}

template <int vectors>
void store_part(const Sums<vectors>& sums, const Target& target) {
  alignas(32) std::array<float, vectors * lane> values;
  for (std::int64_t row = 0; row < target.rows; ++row) {
    for (int v = 0; v < vectors; ++v) _mm256_store_ps(values.data() + v * lane, sums.of[row][v]);
    float* const to = target.data + row * target.stride;
    const float* const base = target.adds ? to : target.bias;
    for (std::int64_t column = 0; column < target.columns; ++column) {
      to[column] =
          (base == nullptr ? 0.0F : base[column]) + values[static_cast<std::size_t>(column)];
    }
  }
}

template <int vectors>
void tile(const LeftPanel& left, const float* right, std::int64_t depth, const Target& target) {
  Sums<vectors> sums;
  multiply(left, right, depth, sums);
  if (target.rows == tile_rows && target.columns == vectors * lane) {
    store_whole<vectors>(sums, target);
  } else {
    store_part<vectors>(sums, target);
  }
}

// --- blocks -------------------------------------------------------------------------------------

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

// Blocks of one size, as far as that goes: a short last one would read and write all sums for
// little work.
std::int64_t depth_block_of(std::int64_t depth) {
  const std::int64_t blocks =
      std::max<std::int64_t>(1, (depth + gemm_depth_block - 1) / gemm_depth_block);
  const std::int64_t each = (depth + blocks - 1) / blocks;
  return std::max(lane, (each + lane - 1) / lane * lane);
}

class Multiplier {
 public:
  explicit Multiplier(const Product& product) : product_(product) {}

  void run() {
    const std::int64_t depth_block = depth_block_of(product_.depth);
    for (std::int64_t at = 0; at == 0 || at < product_.depth; at += depth_block) {
      depth_ = {at, std::min(at + depth_block, product_.depth)};
      for (std::int64_t column = 0; column < product_.columns; column += columns_block) {
        columns_ = {column, std::min(column + columns_block, product_.columns)};
        pack_right();
        for (std::int64_t row = 0; row < product_.rows; row += rows_block) {
          rows_ = {row, std::min(row + rows_block, product_.rows)};
          const bool is_packed = column > 0 && product_.rows <= rows_block;
          if (packs_left() && !is_packed) pack_left();
          multiply_block();
        }
      }
    }
  }

 private:
  [[nodiscard]] bool packs_left() const {
    return product_.left.column_stride != 1 || product_.columns > columns_for_packing;
  }

  // Rows that lie as they are to be read are read to their end before the next: a panel after
  // another would touch a new page at each step.
  void pack_right_by_rows() {
    const Operand& right = product_.right;
    const std::int64_t width = columns_.count() / tile_columns * tile_columns;
    const std::int64_t panel_size = tile_columns * depth_.count();
    const float* from = right.data + depth_.begin * right.row_stride + columns_.begin;
    float* to = right_.data();
    for (std::int64_t step = 0; step < depth_.count(); ++step) {
      float* panel = to;
      for (std::int64_t column = 0; column < width; column += tile_columns, panel += panel_size) {
        _mm256_store_ps(panel, _mm256_loadu_ps(from + column));
        _mm256_store_ps(panel + lane, _mm256_loadu_ps(from + column + lane));
      }
      from += right.row_stride;
      to += tile_columns;
    }
    if (width < columns_.count()) pack_right_from(columns_.begin + width);
  }

  void pack_right() {
    if (product_.right.column_stride == 1) return pack_right_by_rows();
    pack_right_from(columns_.begin);
  }

  void pack_right_from(std::int64_t first) {
    const Operand& right = product_.right;
    for (std::int64_t column = first; column < columns_.end; column += tile_columns) {
      const Strip strip{
          .from = right.data + depth_.begin * right.row_stride + column * right.column_stride,
          .across = right.column_stride,
          .along = right.row_stride,
          .count = std::min(tile_columns, columns_.end - column),
          .depth = depth_.count()};
      float* const panel = right_panel(column);
      if (strip.count > lane) {
        pack<tile_columns>(strip, panel);
      } else {
        pack<lane>(strip, panel);
      }
    }
  }

  [[nodiscard]] Strip left_strip(std::int64_t row) const {
    const Operand& left = product_.left;
    return {.from = left.data + row * left.row_stride + depth_.begin * left.column_stride,
            .across = left.row_stride,
            .along = left.column_stride,
            .count = std::min(tile_rows, product_.rows - row),
            .depth = depth_.count()};
  }

  void pack_left() {
    for (std::int64_t row = rows_.begin; row < rows_.end; row += tile_rows) {
      pack<tile_rows>(left_strip(row), packed_left(row));
    }
  }

  // The last rows are packed even where the others are not, so that no row beyond them is read.
  LeftPanel left_panel(std::int64_t row) {
    const Strip strip = left_strip(row);
    if (packs_left()) return {.data = packed_left(row)};
    if (strip.count == tile_rows) return {strip.from, strip.across, strip.along};
    return {.data = packed_left(row)};
  }

  void multiply_block() {
    if (!packs_left() && rows_.count() % tile_rows != 0) {
      const std::int64_t last = rows_.begin + rows_.count() / tile_rows * tile_rows;
      pack<tile_rows>(left_strip(last), packed_left(last));
    }
    for (std::int64_t column = columns_.begin; column < columns_.end; column += tile_columns) {
      const float* const right = right_panel(column);
      const std::int64_t width = std::min(tile_columns, columns_.end - column);
      for (std::int64_t row = rows_.begin; row < rows_.end; row += tile_rows) {
        const Target target = target_at(row, column, width);
        if (width > lane) {
          tile<2>(left_panel(row), right, depth_.count(), target);
        } else {
          tile<1>(left_panel(row), right, depth_.count(), target);
        }
      }
    }
  }

  [[nodiscard]] Target target_at(std::int64_t row, std::int64_t column, std::int64_t width) const {
    const bool is_first = depth_.begin == 0;
    const float* const bias =
        is_first && product_.bias != nullptr ? product_.bias + column : nullptr;
    return {.data = product_.out + row * product_.columns + column,
            .stride = product_.columns,
            .rows = std::min(tile_rows, product_.rows - row),
            .columns = width,
            .bias = bias,
            .adds = !is_first || product_.write == Write::add};
  }

  // Where the panel of the columns from `column` on lies. Panels of 8 columns come last.
  [[nodiscard]] float* right_panel(std::int64_t column) {
    return right_.data() + (column - columns_.begin) * depth_.count();
  }
  [[nodiscard]] float* packed_left(std::int64_t row) {
    return left_.data() + (row - rows_.begin) * depth_.count();
  }

  static AlignedBuffer& buffer_for_left() {
    thread_local AlignedBuffer buffer(rows_block * gemm_depth_block + lane);
    return buffer;
  }
  static AlignedBuffer& buffer_for_right() {
    thread_local AlignedBuffer buffer(columns_block * gemm_depth_block + lane);
    return buffer;
  }

  const Product& product_;
  AlignedBuffer& left_ = buffer_for_left();
  AlignedBuffer& right_ = buffer_for_right();
  Range depth_;
  Range columns_;
  Range rows_;
};

}  // namespace

void gemm(const Product& product) { Multiplier(product).run(); }

}  // namespace trainyard::runtime
