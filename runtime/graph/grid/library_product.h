// How products of a grid go to a library (product_library.h). Where there is none, or it does not
// take one, the grid's own kernels multiply.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/graph/grid/gemm_sides.h"
#include "runtime/graph/grid/libraries.h"
#include "runtime/graph/grid/product_library.h"
#include "runtime/graph/grid/quad.h"
#include "runtime/math/wire/bfloat16.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

// A matrix in memory, of lines of neighbours.
struct MatrixLines {
  std::int64_t lines = 0;
  std::int64_t length = 0;
};

// Elements of scratch (float32) with both sides of `products` products rounded to bfloat16, from a
// border of 16 bytes on.
inline std::int64_t rounded_scratch(const MatrixLines& a, const MatrixLines& b,
                                    std::int64_t products = 1) {
  const auto halves = [products](const MatrixLines& of) {
    return of.lines * in_eights(of.length) * products;
  };
  constexpr std::int64_t to_border = 3;
  return (halves(a) + halves(b)) / 2 + to_border;
}

// The same of a product's three: out [rows, columns] and its two sides' gradients. 0 where a
// library does not multiply it in bfloat16.
template <class Grid>
std::int64_t library_scratch(const Grid& grid, const LibrarySizes& of, const MatrixLines& left,
                             const MatrixLines& right) {
  if (grid.precision() != Precision::bfloat16) return 0;
  const ProductLibrary* const library = grid.libraries().products;
  if (library == nullptr || !library->is_for(of)) return 0;
  const MatrixLines out{of.rows, of.columns};
  return std::max({rounded_scratch(left, right, of.products),
                   rounded_scratch(left, out, of.products),
                   rounded_scratch(out, right, of.products)});
}

// A side as lines of neighbours; none where neither its rows nor its depth are neighbours, or where
// a line reaches into the next.
inline std::optional<LibraryMatrix> library_side(const Strided& side, std::int64_t rows,
                                                 std::int64_t depth) {
  const bool is_deep = side.is_deep();
  if (!is_deep && side.outer != 1) return std::nullopt;
  if ((is_deep ? side.outer : side.along) < (is_deep ? depth : rows)) return std::nullopt;
  return LibraryMatrix{.data = side.data,
                       .rows = is_deep ? depth : rows,
                       .columns = is_deep ? rows : depth,
                       .stride = is_deep ? side.outer : side.along,
                       .apart = side.apart};
}

// Row by row as a grid has it is column by column of the turned product: the right side comes
// first.
template <class Product>
std::optional<LibraryProduct> library_product(const Product& product) {
  const std::int64_t depth = product.cuts.depth;
  auto first = library_side(product.right, product.columns, depth);
  auto second = library_side(product.left, product.rows, depth);
  if (!first || !second) return std::nullopt;
  first->is_turned = product.right.is_deep();
  second->is_turned = !product.left.is_deep();
  return LibraryProduct{.left = *first,
                        .right = *second,
                        .rows = product.columns,
                        .columns = product.rows,
                        .depth = depth,
                        .products = product.products,
                        .bias = product.bias,
                        .out = product.out,
                        .out_stride = product.out_stride,
                        .out_apart = product.out_apart,
                        .write = product.write};
}

// Four numbers.
struct alignas(8) RoundedQuad {
  std::uint16_t of[4];
};

// The first place there that four numbers of float32 may be read from at once.
inline float* at_border(float* data) {
  while (!is_quad(data)) ++data;
  return data;
}

// One side in bfloat16, in memory of its own.
struct RoundedSide {
  LibraryMatrix from;
  LibraryMatrix to;
  std::int64_t products = 1;

  template <class Grid>
  void round(Grid& grid) const {
    const auto* const data = static_cast<const float*>(from.data);
    auto* const rounded = static_cast<std::uint16_t*>(const_cast<void*>(to.data));
    const std::int64_t quads = to.stride / 4;
    const std::int64_t lines = from.columns;
    const std::int64_t length = from.rows;
    const std::int64_t stride = from.stride;
    const std::int64_t apart = from.apart;
    grid.each(products * lines * quads, [=] TRAINYARD_KERNEL(std::int64_t i) {
      const std::int64_t line = i / quads;
      const std::int64_t first = i % quads * 4;
      const float* const at = data + line / lines * apart + line % lines * stride + first;
      Quad numbers{};
      if (first + 4 <= length && is_quad(at)) {
        numbers = *reinterpret_cast<const Quad*>(at);
      } else {
        for (int k = 0; k < 4 && first + k < length; ++k) numbers.of[k] = at[k];
      }
      RoundedQuad quad;
      for (int k = 0; k < 4; ++k) quad.of[k] = to_bfloat16(numbers.of[k]);
      *reinterpret_cast<RoundedQuad*>(rounded + i * 4) = quad;
    });
  }
};

inline RoundedSide rounded_side(const LibraryMatrix& from, std::int64_t products, void* memory) {
  LibraryMatrix to = from;
  to.data = memory;
  to.stride = in_eights(from.rows);
  to.apart = from.columns * to.stride;
  return {.from = from, .to = to, .products = products};
}

// Whether the library has multiplied. `scratch`: for rounded sides.
template <class Grid>
bool multiply_plain(Grid& grid, LibraryProduct product, Tensor scratch) {
  ProductLibrary& library = *grid.libraries().products;
  if (grid.precision() != Precision::bfloat16) {
    if (!library.takes(product)) return false;
    library.multiply(product);
    return true;
  }
  const std::int64_t needed =
      rounded_scratch({product.left.columns, product.left.rows},
                      {product.right.columns, product.right.rows}, product.products);
  if (scratch.data == nullptr || scratch.elements() < needed) return false;
  auto* const memory = reinterpret_cast<std::uint16_t*>(at_border(scratch.data));
  const RoundedSide left = rounded_side(product.left, product.products, memory);
  const RoundedSide right =
      rounded_side(product.right, product.products, memory + left.to.apart * product.products);
  product.left = left.to;
  product.right = right.to;
  if (!library.takes(product)) return false;
  left.round(grid);
  right.round(grid);
  library.multiply(product);
  return true;
}

// Other types of sides and of rows are read by the grid's kernels alone.
template <class Grid>
bool multiply_by_library(Grid& grid, const GridProduct<Strided, Strided>& product, Tensor scratch) {
  const LibrarySizes sizes{product.rows, product.columns, product.cuts.depth, product.products};
  const ProductLibrary* const library = grid.libraries().products;
  if (library == nullptr || !library->is_for(sizes)) return false;
  const auto plain = library_product(product);
  return plain && multiply_plain(grid, *plain, scratch);
}
template <class Grid, class Product>
bool multiply_by_library(Grid&, const Product&, Tensor) {
  return false;
}

}  // namespace trainyard::runtime
