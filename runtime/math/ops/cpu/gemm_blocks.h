// Blocking as in K. Goto and R. A. van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008: a block of the right side and one of the left are
// packed; that of the left stays in the second-level cache, and that of the right where there is
// room, as each of its panels is read for all rows of the left. Such a panel stays in the first
// while panels of rows pass by, and the sums of one tile stay in registers. Where the right side
// lies by rows, a panel is packed while the tiles before it are multiplied, as the memory that it
// comes from is slower than they are.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/ops/cpu/gemm_pack.h"
#include "runtime/math/ops/cpu/gemm_tile.h"

namespace trainyard::runtime {

inline constexpr std::int64_t gemm_rows_block = 240;     // x depth: 300 KiB
inline constexpr std::int64_t gemm_columns_block = 832;  // x depth: 1,040 KiB

// Without any there is perhaps no memory to point at.
inline const float* number_of(const Operand& side, std::int64_t row, std::int64_t column) {
  if (side.data == nullptr) return nullptr;
  return side.data + row * side.row_stride + column * side.column_stride;
}

template <class Tile>
class Multiplier {
  static_assert(gemm_rows_block % Tile::rows == 0 && gemm_columns_block % Tile::columns == 0);

 public:
  explicit Multiplier(const Product& product) : product_(product) {}

  void run() {
    for_each_block([this] {
      if (product_.packed_right == nullptr) {
        pack_right(right_.data(), tiles_copy_panels() ? 1 : no_limit);
      }
      for (std::int64_t row = 0; row < product_.rows; row += rows_block) {
        rows_ = {row, std::min(row + rows_block, product_.rows)};
        const bool is_packed = columns_.begin > 0 && product_.rows <= rows_block;
        if (!is_packed) pack_left();
        multiply_block();
      }
    });
  }

  // Values that are packed before they are read.
  [[nodiscard]] std::int64_t values_packed() const {
    const bool packs_right = product_.packed_right == nullptr && !tiles_copy_panels();
    return left_values_packed() + (packs_right ? product_.columns * product_.depth : 0);
  }
  [[nodiscard]] std::int64_t left_values_packed() const {
    if (!packs_left()) return 0;
    const std::int64_t block = columns_block_of(depth_block_of(product_.depth));
    const std::int64_t blocks =
        product_.rows <= rows_block ? 1 : (product_.columns + block - 1) / block;
    return product_.rows * blocks * product_.depth;
  }

  void pack_whole_right(float* packed) {
    for_each_block([&] { pack_right(packed + offset_in_whole(), no_limit); });
  }

 private:
  static constexpr std::int64_t rows_block = gemm_rows_block;
  static constexpr std::int64_t no_limit = INT64_MAX;
  // Up to so many columns a packed left side is not read often enough to be worth the packing.
  static constexpr std::int64_t columns_for_packing = 512;

  // Where blocks of the depth are shorter, more columns have as much room.
  static std::int64_t columns_block_of(std::int64_t depth) {
    constexpr std::int64_t panels = gemm_columns_block / Tile::columns * gemm_depth_block;
    return panels / std::max<std::int64_t>(1, depth) * Tile::columns;
  }

  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    [[nodiscard]] std::int64_t count() const { return end - begin; }
  };

  // visit() for each block of the right side, depth_ and columns_.
  template <class Visit>
  void for_each_block(Visit visit) {
    const std::int64_t depth_block = depth_block_of(product_.depth);
    // For each block of columns a left side of more than a block of rows is packed again.
    const std::int64_t width =
        panels_alternate()
            ? product_.columns
            : even_block(product_.columns, columns_block_of(depth_block), Tile::columns);
    for (std::int64_t at = 0; at == 0 || at < product_.depth; at += depth_block) {
      depth_ = {at, std::min(at + depth_block, product_.depth)};
      for (std::int64_t column = 0; column < product_.columns; column += width) {
        columns_ = {column, std::min(column + width, product_.columns)};
        visit();
      }
    }
  }

  // Of this block in a right side that is packed as a whole: block after block, of which all but
  // the last of a depth are equally wide, and whole tiles.
  [[nodiscard]] std::int64_t offset_in_whole() const {
    return depth_.begin * round_up(product_.columns) + columns_.begin * depth_.count();
  }
  static std::int64_t round_up(std::int64_t columns) {
    return (columns + Tile::columns - 1) / Tile::columns * Tile::columns;
  }

  [[nodiscard]] bool packs_left() const {
    return product_.left.column_stride != 1 || product_.columns > columns_for_packing;
  }

  // Of whole panels of the right side only the first is packed: each tile copies a part of the
  // next.
  [[nodiscard]] bool tiles_copy_panels() const {
    return product_.packed_right == nullptr && product_.right.column_stride == 1 &&
           product_.rows >= Tile::rows;
  }

  // A panel is read by one block of rows alone: when it has been, the next but one takes its place.
  [[nodiscard]] bool panels_alternate() const {
    return tiles_copy_panels() && product_.rows <= rows_block;
  }

  // Rows that lie as they are to be read are read to their end before the next: a panel after
  // another would touch a new page at each step. `panels`: of the whole ones so many are packed.
  void pack_right(float* to, std::int64_t panels) const {
    const Operand& right = product_.right;
    const std::int64_t whole = columns_.count() / Tile::columns;
    std::int64_t column = columns_.begin;
    if (right.column_stride == 1) {
      pack_rows({.from = number_of(right, depth_.begin, columns_.begin),
                 .along = right.row_stride,
                 .depth = depth_.count()},
                std::min(whole, panels), Tile::columns, to);
      column += whole * Tile::columns;
    }
    for (; column < columns_.end; column += Tile::columns) {
      const Strip strip{.from = number_of(right, depth_.begin, column),
                        .across = right.column_stride,
                        .along = right.row_stride,
                        .count = std::min(Tile::columns, columns_.end - column),
                        .depth = depth_.count()};
      pack(strip, Tile::width_of(strip.count), to + panel_offset(column));
    }
  }

  [[nodiscard]] Strip left_strip(std::int64_t row) const {
    const Operand& left = product_.left;
    return {.from = number_of(left, row, depth_.begin),
            .across = left.row_stride,
            .along = left.column_stride,
            .count = std::min(Tile::rows, product_.rows - row),
            .depth = depth_.count()};
  }

  // The last rows are packed even where the others are not, so that no row beyond them is read.
  void pack_left() {
    const std::int64_t whole = rows_.count() / Tile::rows;
    std::int64_t row = rows_.begin;
    if (!packs_left()) {
      row += whole * Tile::rows;
    } else if (product_.left.row_stride == 1) {
      pack_rows(left_strip(row), whole, Tile::rows, packed_left(row));
      row += whole * Tile::rows;
    }
    for (; row < rows_.end; row += Tile::rows) {
      const Strip strip = left_strip(row);
      pack(strip, Tile::height_of(strip.count), packed_left(row));
    }
  }

  LeftPanel left_panel(std::int64_t row) {
    const Strip strip = left_strip(row);
    if (!packs_left() && strip.count == Tile::rows) {
      return {.data = strip.from, .row_stride = strip.across, .depth_stride = strip.along};
    }
    return {
        .data = packed_left(row), .row_stride = 1, .depth_stride = Tile::height_of(strip.count)};
  }

  void multiply_block() {
    const float* const block = product_.packed_right == nullptr
                                   ? right_.data()
                                   : product_.packed_right + offset_in_whole();
    for (std::int64_t column = columns_.begin; column < columns_.end; column += Tile::columns) {
      const float* const right = block + panel_offset(column);
      for (std::int64_t row = rows_.begin; row < rows_.end; row += Tile::rows) {
        multiply_tile(row, column, right);
      }
    }
  }

  void multiply_tile(std::int64_t row, std::int64_t column, const float* right) {
    const Target target = target_at(row, column);
    const bool is_whole = target.rows == Tile::rows && target.columns == Tile::columns;
    if (is_whole && row < rows_block && tiles_copy_panels() &&
        column + 2 * Tile::columns <= columns_.end) {
      const PanelCopy copy = copy_of_next(row, column);
      return Tile::multiply(left_panel(row), right, depth_.count(), target, copy);
    }
    const std::int64_t next = row + Tile::rows;
    if (is_whole && column == columns_.begin && !packs_left() && next < product_.rows) {
      const RowFetch fetch{.from = number_of(product_.left, next, depth_.begin),
                           .stride = product_.left.row_stride,
                           .rows = std::min(Tile::rows, product_.rows - next)};
      return Tile::multiply(left_panel(row), right, depth_.count(), target, fetch);
    }
    Tile::multiply(left_panel(row), right, depth_.count(), target);
  }

  // What the tile at `row` copies of the panel behind that of `column`: all whole tiles of the
  // first block of rows copy it together.
  [[nodiscard]] PanelCopy copy_of_next(std::int64_t row, std::int64_t column) {
    const std::int64_t tiles = rows_.count() / Tile::rows;
    const std::int64_t each = (depth_.count() + tiles - 1) / tiles;
    const std::int64_t first = std::min(row / Tile::rows * each, depth_.count());
    column += Tile::columns;
    return {.from = number_of(product_.right, depth_.begin + first, column),
            .stride = product_.right.row_stride,
            .to = right_.data() + panel_offset(column) + first * Tile::columns,
            .steps = std::min(each, depth_.count() - first),
            .steps_behind = std::max<std::int64_t>(0, depth_.count() - first - each)};
  }

  [[nodiscard]] Target target_at(std::int64_t row, std::int64_t column) const {
    const bool is_first = depth_.begin == 0;
    const std::int64_t stride = product_.out_stride == 0 ? product_.columns : product_.out_stride;
    float* const to = product_.out + row * stride + column;
    Target target{.data = to,
                  .stride = stride,
                  .rows = std::min(Tile::rows, product_.rows - row),
                  .columns = std::min(Tile::columns, columns_.end - column)};
    const bool goes_down = row + Tile::rows < rows_.end;
    const std::int64_t next_row = goes_down ? row + Tile::rows : rows_.begin;
    const std::int64_t next_column = goes_down ? column : column + Tile::columns;
    if (next_column < columns_.end) {
      target.next = product_.out + next_row * stride + next_column;
      target.next_rows = std::min(Tile::rows, rows_.end - next_row);
    }
    if (!is_first || product_.write == Write::add) {
      target.base = to;
      target.base_stride = stride;
    } else if (product_.bias != nullptr) {
      target.base = product_.bias + column;
    }
    return target;
  }

  // Where the panel of the columns from `column` on lies in its block: all before it are whole.
  [[nodiscard]] std::int64_t panel_offset(std::int64_t column) const {
    if (!panels_alternate()) return (column - columns_.begin) * depth_.count();
    const bool is_whole = column + Tile::columns <= columns_.end;
    const std::int64_t place = is_whole ? column / Tile::columns % 2 : 2;
    return place * Tile::columns * depth_.count();
  }
  [[nodiscard]] float* packed_left(std::int64_t row) {
    return left_.data() + (row - rows_.begin) * depth_.count();
  }

  static AlignedBuffer& buffer_for_left() {
    thread_local AlignedBuffer buffer(rows_block * gemm_depth_block + pack_slack);
    return buffer;
  }
  static AlignedBuffer& buffer_for_right() {
    thread_local AlignedBuffer buffer(gemm_columns_block * gemm_depth_block + pack_slack);
    return buffer;
  }

  const Product& product_;
  AlignedBuffer& left_ = buffer_for_left();
  AlignedBuffer& right_ = buffer_for_right();
  Range depth_;
  Range columns_;
  Range rows_;
};

}  // namespace trainyard::runtime
