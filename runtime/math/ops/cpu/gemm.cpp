#include "runtime/math/ops/cpu/gemm.h"

#include <algorithm>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/avx512.h"
#include "runtime/math/ops/cpu/gemm_blocks.h"
#include "runtime/math/ops/cpu/gemm_pack.h"
#include "runtime/math/ops/cpu/gemm_tile.h"
#include "runtime/math/ops/cpu/strided.h"

namespace trainyard::runtime {
namespace {

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

// The same sums as a product whose rows are this one's columns.
Product transposed(const Product& product) {
  return {.rows = product.columns,
          .columns = product.rows,
          .depth = product.depth,
          .left = {.data = product.right.data,
                   .row_stride = product.right.column_stride,
                   .column_stride = product.right.row_stride},
          .right = {.data = product.left.data,
                    .row_stride = product.left.column_stride,
                    .column_stride = product.left.row_stride},
          .write = product.write};
}

// Of each thread, for its life: 4 MiB of what the parts share, and the sums of one.
constexpr std::int64_t shared_elements = 1024 * 1024;
constexpr std::int64_t transposed_elements = 256 * 1024;
constexpr std::int64_t transposed_rows = gemm_rows_block;

// What has to be packed of a side depends on how it lies and on which side it is. Clearly less, as
// the result is moved once more.
template <class Tile>
bool is_cheaper_transposed(const Product& product) {
  const bool can_be = product.bias == nullptr && product.packed_right == nullptr &&
                      product.rows > 0 && product.rows <= transposed_elements / transposed_rows &&
                      packed_right_elements(product.depth, product.rows) <= shared_elements;
  if (!can_be) return false;
  const std::int64_t moved = product.rows * product.columns * (product.write == Write::add ? 2 : 1);
  const std::int64_t shared = product.rows * product.depth;
  const std::int64_t packed =
      Multiplier<Tile>(transposed(product)).left_values_packed() + shared + moved;
  return 2 * packed < Multiplier<Tile>(product).values_packed();
}

struct Matrix {
  float* data = nullptr;
  std::int64_t stride = 0;  // from a row to the next
};

// To [columns, rows] from [rows, columns].
void transpose(const Matrix& from, std::int64_t rows, std::int64_t columns, const Matrix& to) {
  CopyLoops loops;
  loops.add_axis(columns, {1, to.stride});
  loops.add_axis(rows, {from.stride, 1});
  strided_copy(loops, from.data, to.data, Write::overwrite);
}

template <class Tile>
void multiply_transposed(const Product& product) {
  thread_local AlignedBuffer shared(shared_elements);
  thread_local AlignedBuffer sums(transposed_elements);
  const std::int64_t stride = product.out_stride == 0 ? product.columns : product.out_stride;
  Product part = transposed(product);
  part.rows = 0;  // no tile copies panels
  Multiplier<Tile>(part).pack_whole_right(shared.data());
  part.packed_right = shared.data();
  part.out = sums.data();
  for (std::int64_t column = 0; column < product.columns; column += transposed_rows) {
    part.rows = std::min(transposed_rows, product.columns - column);
    part.left.data = number_of(product.right, 0, column);
    const Matrix there{part.out, product.rows};
    const Matrix out{product.out + column, stride};
    if (product.write == Write::add) transpose(out, product.rows, part.rows, there);
    Multiplier<Tile>(part).run();
    transpose(there, part.rows, product.rows, out);
  }
}

template <class Tile>
void multiply_here(const Product& product) {
  if (is_cheaper_transposed<Tile>(product)) return multiply_transposed<Tile>(product);
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
  Product side = product;
  side.rows = 0;  // no tile copies panels
  switch (kernel) {
    case GemmKernel::avx2: return Multiplier<Avx2Tile>(side).pack_whole_right(packed);
    case GemmKernel::avx512: return Multiplier<Avx512Tile>(side).pack_whole_right(packed);
  }
}

}  // namespace trainyard::runtime
