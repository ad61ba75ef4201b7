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

namespace trainyard::runtime {
namespace {

constexpr std::int64_t rows_block = 240;     // x depth: 300 KiB
constexpr std::int64_t columns_block = 448;  // x depth: 560 KiB
// Up to so many columns a packed left side is not read often enough to be worth the packing.
constexpr std::int64_t columns_for_packing = 256;

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
      if (product_.packed_right == nullptr) pack_right(right_.data());
      for (std::int64_t row = 0; row < product_.rows; row += rows_block) {
        rows_ = {row, std::min(row + rows_block, product_.rows)};
        const bool is_packed = columns_.begin > 0 && product_.rows <= rows_block;
        if (!is_packed) pack_left();
        multiply_block();
      }
    });
  }

  void pack_whole_right(float* packed) {
    for_each_block([&] { pack_right(packed + offset_in_whole()); });
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

  // Rows that lie as they are to be read are read to their end before the next: a panel after
  // another would touch a new page at each step.
  void pack_right(float* to) const {
    const Operand& right = product_.right;
    std::int64_t column = columns_.begin;
    if (right.column_stride == 1) {
      const std::int64_t whole = columns_.count() / Tile::columns;
      pack_rows({.from = number_of(right, depth_.begin, columns_.begin),
                 .along = right.row_stride,
                 .depth = depth_.count()},
                whole, Tile::columns, to);
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
        Tile::multiply(left_panel(row), right, depth_.count(), target_at(row, column));
      }
    }
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

// Each part is a product of its own, of the same depth.
template <class Tile>
void multiply(const Product& product) {
  const std::int64_t wanted = product.threads.parts_of(
      gemm_nanoseconds(static_cast<double>(product.rows * product.columns * product.depth)));
  if (wanted == 1) return Multiplier<Tile>(product).run();
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
    Multiplier<Tile>(part).run();
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
