// Products on a grid. In float32 with the bits of gemm (ops/cpu/gemm.h): an element is a chain of
// fused multiply-adds over ascending depth, which starts at zero anew with each block of the depth;
// the blocks' sums are added in order. The depth's blocks may be computed apart: the same bits. In
// the grid's other precisions by tensor cores, and by a library where there is one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "runtime/graph/grid/gemm_scratch.h"
#include "runtime/graph/grid/gemm_tile.h"
#include "runtime/graph/grid/library_product.h"
#include "runtime/graph/grid/team.h"
#include "runtime/graph/grid/tensor_core_product.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

// Some of the depth's blocks, apart or all of them one after another.
struct SomeCuts {
  float* apart = nullptr;
  std::int64_t first = 0;
  std::int64_t count = 1;
};

template <int height, int width, class Product>
std::int64_t tiles_for(const Product& product) {
  return ((product.rows + height - 1) / height) * ((product.columns + width - 1) / width);
}

template <int height, int width, int rows, int columns, class Grid, class Product>
void multiply_tiles(Grid& grid, const Product& product, const SomeCuts& some) {
  const std::int64_t tiles = tiles_for<height, width>(product);
  grid.blocks(tiles * product.products * (some.apart == nullptr ? 1 : some.count),
              GemmTile<Product, height, width, rows, columns>{
                  .product = product,
                  .tiles_across = (product.columns + width - 1) / width,
                  .tiles = tiles,
                  .apart = some.apart,
                  .first_cut = some.first,
                  .cuts = some.count});
}

// What a tile of so many elements, computed by so many threads, takes a GPU of 132 processors, in
// elements of one of them: each has the registers of 512 threads, and with fewer it waits more.
template <int height, int width, int rows, int columns, class Product>
double tiles_cost(const Product& product, std::int64_t parts) {
  constexpr int threads = (height / rows) * (width / columns);
  constexpr double speed = rows * columns == 64 ? 1 : rows * columns == 32 ? 0.8 : 0.55;
  const std::int64_t each = (tiles_for<height, width>(product) * parts + 131) / 132;
  const double there = std::min<double>(512, static_cast<double>(each * threads));
  const double waits = there >= 512 ? 1 : there >= 256 ? 0.85 : there >= 128 ? 0.6 : 0.35;
  return static_cast<double>(each) * height * width / (speed * waits);
}

// By the tiles that take the least time, probably; of about the same the largest, which read least.
template <class Grid, class Product>
void multiply_cuts(Grid& grid, const Product& product, const SomeCuts& some) {
  const std::int64_t parts = product.products * (some.apart == nullptr ? 1 : some.count);
  const double costs[] = {
      tiles_cost<128, 128, 8, 8>(product, parts), tiles_cost<128, 64, 8, 8>(product, parts),
      tiles_cost<128, 32, 8, 4>(product, parts), tiles_cost<64, 64, 8, 8>(product, parts),
      tiles_cost<32, 32, 4, 4>(product, parts)};
  const double least = *std::min_element(std::begin(costs), std::end(costs));
  const auto is_good = [least](double cost) { return cost <= 1.05 * least; };
  switch (std::find_if(std::begin(costs), std::end(costs), is_good) - std::begin(costs)) {
    case 0: return multiply_tiles<128, 128, 8, 8>(grid, product, some);
    case 1: return multiply_tiles<128, 64, 8, 8>(grid, product, some);
    case 2: return multiply_tiles<128, 32, 8, 4>(grid, product, some);
    case 3: return multiply_tiles<64, 64, 8, 8>(grid, product, some);
    default: return multiply_tiles<32, 32, 4, 4>(grid, product, some);
  }
}

// Adds what blocks of the depth have come to apart, in their order.
template <class Grid, class Product>
void add_cuts(Grid& grid, const Product& product, const SomeCuts& some) {
  const std::int64_t each = product.rows * product.columns;
  const float* const apart = some.apart;
  const std::int64_t cuts = some.count;
  const bool is_first = some.first == 0;
  grid.each(each * product.products, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t number = i / each;
    const std::int64_t row = i % each / product.columns;
    const std::int64_t column = i % product.columns;
    float* const out = product.place(number, row) + column;
    const float* const from = apart + number * cuts * each + i % each;
    float sum = is_first ? first_sum(product, out, column, from[0]) : *out + from[0];
#pragma unroll 8
    for (std::int64_t cut = 1; cut < cuts; ++cut) sum += from[cut * each];
    *out = sum;
  });
}

// Of the depth's blocks, how many the scratch has room for apart.
template <class Product>
std::int64_t room_for_cuts(const Product& product, const Tensor& scratch) {
  if (scratch.data == nullptr) return 0;
  const std::int64_t wanted =
      gemm_scratch(product.rows, product.columns, product.cuts.count(), product.products);
  return std::min(wanted, scratch.elements()) / (product.rows * product.columns * product.products);
}

template <class Grid, class Product>
void multiply_exactly(Grid& grid, const Product& product, Tensor scratch = {}) {
  const std::int64_t each = product.rows * product.columns * product.products;
  if (each == 0) return;
  const std::int64_t cuts = product.cuts.count();
  const std::int64_t some_there = room_for_cuts(product, scratch);
  if (some_there < 2) return multiply_cuts(grid, product, SomeCuts{.count = cuts});
  const std::int64_t rounds = (cuts + some_there - 1) / some_there;
  const std::int64_t some = (cuts + rounds - 1) / rounds;
  for (std::int64_t first = 0; first < cuts; first += some) {
    const SomeCuts part{
        .apart = scratch.data, .first = first, .count = std::min(some, cuts - first)};
    multiply_cuts(grid, product, part);
    add_cuts(grid, product, part);
  }
}

template <class Words, class Grid, class Product>
void multiply_rounded(Grid& grid, const Product& product, Tensor scratch) {
  const std::int64_t each = product.rows * product.columns * product.products;
  if (each == 0) return;
  const std::int64_t most = std::max<std::int64_t>(1, room_for_cuts(product, scratch));
  const DepthParts parts = multiply_words<Words>(grid, product, scratch.data, most);
  if (parts.count > 1) {
    add_cuts(grid, product, SomeCuts{.apart = scratch.data, .count = parts.count});
  }
}

// In the grid's precision, by its own kernels.
template <class Grid, class Product>
void multiply_by_kernels(Grid& grid, const Product& product, Tensor scratch = {}) {
  switch (grid.precision()) {
    case Precision::float32: return multiply_exactly(grid, product, scratch);
    case Precision::tf32: return multiply_rounded<Tf32Words>(grid, product, scratch);
    case Precision::bfloat16: return multiply_rounded<Bfloat16Words>(grid, product, scratch);
  }
}

// By a library where there is one for such a product.
template <class Grid, class Product>
void multiply(Grid& grid, const Product& product, Tensor scratch = {}) {
  if (!multiply_by_library(grid, product, scratch)) multiply_by_kernels(grid, product, scratch);
}

}  // namespace trainyard::runtime
