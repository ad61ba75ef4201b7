// Blocking as in K. Goto and R. A. van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34(3), 2008: a block of the right side and one of the left are packed
// so that both stay in the second-level cache; a panel of columns stays in the first while panels
// of rows pass by, and the sums of one tile stay in registers.
#include "runtime/math/ops/cpu/gemm.h"

#include <algorithm>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/avx512.h"
#include "runtime/math/ops/cpu/gemm_pack.h"
#include "runtime/math/ops/cpu/gemm_tile.h"
#include "runtime/math/ops/cpu/strided.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t rows_block = 240;     // x depth: 300 KiB
constexpr std::int64_t columns_block = 448;  // x depth: 560 KiB
constexpr std::int64_t all = columns_block;  // panels
// Up to so many columns a packed left side is not read often enough to be worth the packing.
constexpr std::int64_t columns_for_packing = 512;

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

// Without any there is perhaps no memory to point at.
const float* number_of(const Operand& side, std::int64_t row, std::int64_t column) {
  if (side.data == nullptr) return nullptr;
  return side.data + row * side.row_stride + column * side.column_stride;
}

template <class Tile>
class Multiplier {
  static_assert(rows_block % Tile::rows == 0 && columns_block % Tile::columns == 0);

 public:
  explicit Multiplier(const Product& product) : product_(product) {}

  void run() {
    for_each_block([this] {
      if (product_.packed_right == nullptr)
        pack_right(right_.data(), tiles_copy_panels() ? 1 : all);
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
    const std::int64_t blocks =
        product_.rows <= rows_block ? 1 : (product_.columns + columns_block - 1) / columns_block;
    const std::int64_t left = packs_left() ? product_.rows * blocks : 0;
    const std::int64_t right =
        product_.packed_right == nullptr && !tiles_copy_panels() ? product_.columns : 0;
    return (left + right) * product_.depth;
  }

  void pack_whole_right(float* packed) {
    for_each_block([&] { pack_right(packed + offset_in_whole(), all); });
  }

 private:
  // visit() for each block of the right side, depth_ and columns_.
  template <class Visit>
  void for_each_block(Visit visit) {
    const std::int64_t depth_block = depth_block_of(product_.depth);
    // For each block of columns the left side is packed again.
    const std::int64_t width = even_block(product_.columns, columns_block, Tile::columns);
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
            .steps = std::min(each, depth_.count() - first)};
  }

  [[nodiscard]] Target target_at(std::int64_t row, std::int64_t column) const {
    const bool is_first = depth_.begin == 0;
    const std::int64_t stride = product_.out_stride == 0 ? product_.columns : product_.out_stride;
    float* const to = product_.out + row * stride + column;
    Target target{.data = to,
                  .stride = stride,
                  .rows = std::min(Tile::rows, product_.rows - row),
                  .columns = std::min(Tile::columns, columns_.end - column)};
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
    return (column - columns_.begin) * depth_.count();
  }
  [[nodiscard]] float* packed_left(std::int64_t row) {
    return left_.data() + (row - rows_.begin) * depth_.count();
  }

  static AlignedBuffer& buffer_for_left() {
    thread_local AlignedBuffer buffer(rows_block * gemm_depth_block + pack_slack);
    return buffer;
  }
  static AlignedBuffer& buffer_for_right() {
    thread_local AlignedBuffer buffer(columns_block * gemm_depth_block + pack_slack);
    return buffer;
  }

  const Product& product_;
  AlignedBuffer& left_ = buffer_for_left();
  AlignedBuffer& right_ = buffer_for_right();
  Range depth_;
  Range columns_;
  Range rows_;
};

constexpr double packing_nanoseconds = 0.4;  // of a value, roughly

// Parts of a product: so many tiles high and wide, or less at the end.
struct PartSize {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// Of all ways to cut it into so many parts the one whose largest part takes least. Parts side by
// side pack the same rows, parts below each other the same columns.
template <class Tile>
PartSize part_size(const Product& product, std::int64_t parts) {
  const std::int64_t rows = (product.rows + Tile::rows - 1) / Tile::rows;
  const std::int64_t columns = (product.columns + Tile::columns - 1) / Tile::columns;
  const std::int64_t across_max = product.packed_right == nullptr ? std::min(parts, columns) : 1;
  PartSize best{rows, columns};
  double least = 0;
  for (std::int64_t across = 1; across <= across_max; ++across) {
    const std::int64_t down = std::max<std::int64_t>(1, std::min(rows, parts / across));
    const PartSize size{(rows + down - 1) / down, (columns + across - 1) / across};
    const double tiles = static_cast<double>(size.rows * size.columns);
    const auto packed = static_cast<double>(size.rows * Tile::rows + size.columns * Tile::columns);
    const double cost =
        gemm_nanoseconds(tiles * Tile::rows * Tile::columns) + packed * packing_nanoseconds;
    if (across > 1 && cost >= least) continue;
    least = cost;
    best = size;
  }
  return {best.rows * Tile::rows, best.columns * Tile::columns};
}

constexpr std::int64_t turned_elements = 256 * 1024;

// The same sums as a product whose rows are this one's columns, of as many columns as have room.
Product turned(const Product& product, std::int64_t first_column, float* out) {
  const std::int64_t room = turned_elements / product.rows / rows_block * rows_block;
  return {.rows = std::min(room, product.columns - first_column),
          .columns = product.rows,
          .depth = product.depth,
          .left = {.data = number_of(product.right, 0, first_column),
                   .row_stride = product.right.column_stride,
                   .column_stride = product.right.row_stride},
          .right = {.data = product.left.data,
                    .row_stride = product.left.column_stride,
                    .column_stride = product.left.row_stride},
          .out = out,
          .write = product.write};
}

// A side is read fastest where it lies as its tile reads it, and what it lies like depends on which
// side it is.
template <class Tile>
bool is_cheaper_turned(const Product& product) {
  const bool can_be = product.bias == nullptr && product.packed_right == nullptr &&
                      product.rows > 0 && product.rows <= turned_elements / rows_block;
  if (!can_be) return false;
  const Product other = turned(product, 0, nullptr);
  const std::int64_t times =
      (product.columns + other.rows - 1) / std::max<std::int64_t>(1, other.rows);
  const std::int64_t moved = product.rows * product.columns * (product.write == Write::add ? 2 : 1);
  const std::int64_t packed = times * Multiplier<Tile>(other).values_packed() + moved;
  return 2 * packed < Multiplier<Tile>(product).values_packed();
}

// From `from` [rows, columns], whose rows are `stride` apart, to its other side.
void turn(const float* from, std::int64_t from_stride, std::int64_t rows, std::int64_t columns,
          float* to, std::int64_t to_stride) {
  CopyLoops loops;
  loops.add_axis(columns, {1, to_stride});
  loops.add_axis(rows, {from_stride, 1});
  strided_copy(loops, from, to, Write::overwrite);
}

template <class Tile>
void multiply_turned(const Product& product) {
  thread_local AlignedBuffer buffer(turned_elements);
  const std::int64_t stride = product.out_stride == 0 ? product.columns : product.out_stride;
  for (std::int64_t column = 0; column < product.columns;) {
    const Product part = turned(product, column, buffer.data());
    float* const out = product.out + column;
    if (product.write == Write::add) {
      turn(out, stride, product.rows, part.rows, part.out, product.rows);
    }
    Multiplier<Tile>(part).run();
    turn(part.out, product.rows, part.rows, product.rows, out, stride);
    column += part.rows;
  }
}

template <class Tile>
void multiply_here(const Product& product) {
  if (is_cheaper_turned<Tile>(product)) return multiply_turned<Tile>(product);
  Multiplier<Tile>(product).run();
}

// Each part is a product of its own, of the same depth.
template <class Tile>
void multiply(const Product& product) {
  const std::int64_t wanted = product.threads.parts_of(
      gemm_nanoseconds(static_cast<double>(product.rows * product.columns * product.depth)));
  if (wanted == 1) return multiply_here<Tile>(product);
  const PartSize size = part_size<Tile>(product, wanted);
  const std::int64_t across = (product.columns + size.columns - 1) / size.columns;
  const std::int64_t down = (product.rows + size.rows - 1) / size.rows;
  const std::int64_t stride = product.out_stride == 0 ? product.columns : product.out_stride;
  product.threads.run(across * down, [&](std::int64_t number, std::int64_t) {
    const std::int64_t row = number / across * size.rows;
    const std::int64_t column = number % across * size.columns;
    Product part = product;
    part.rows = std::min(size.rows, product.rows - row);
    part.columns = std::min(size.columns, product.columns - column);
    part.left.data = number_of(product.left, row, 0);
    part.right.data = number_of(product.right, 0, column);
    if (part.bias != nullptr) part.bias += column;
    part.out += row * stride + column;
    part.out_stride = stride;
    multiply_here<Tile>(part);
  });
}

}  // namespace

bool is_available(GemmKernel kernel) {
  if (kernel == GemmKernel::avx2) return true;  // main() has made sure of it
  return has_avx512();
}

GemmKernel best_kernel() { return has_avx512() ? GemmKernel::avx512 : GemmKernel::avx2; }

void gemm(const Product& product, GemmKernel kernel) {
  switch (kernel) {
    case GemmKernel::avx2: return multiply<Avx2Tile>(product);
    case GemmKernel::avx512: return multiply<Avx512Tile>(product);
  }
}

std::int64_t packed_right_elements(std::int64_t depth, std::int64_t columns) {
  static_assert(Avx512Tile::columns % Avx2Tile::columns == 0);
  constexpr std::int64_t widest = Avx512Tile::columns;
  return depth * ((columns + widest - 1) / widest * widest) + pack_slack;
}

void pack_right(const Product& product, float* packed, GemmKernel kernel) {
  switch (kernel) {
    case GemmKernel::avx2: return Multiplier<Avx2Tile>(product).pack_whole_right(packed);
    case GemmKernel::avx512: return Multiplier<Avx512Tile>(product).pack_whole_right(packed);
  }
}

}  // namespace trainyard::runtime
