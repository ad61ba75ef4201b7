// Products in tf32 and bfloat16: which tiles, and how many parts of the depth are computed apart.
// Both are functions of the product's sizes and of the room that the model's plan gives, so a
// product has the same bits each time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/graph/grid/tensor_core_tile.h"

namespace trainyard::runtime {

struct WordTiles {
  int length = 32;  // of a side
  std::int64_t parts = 1;
};

// The largest tiles that occupy a GPU, with at most so many parts of the depth, as these read
// least; but none of which more than half would be empty.
inline WordTiles choose_tiles(std::int64_t rows, std::int64_t columns, std::int64_t products,
                              std::int64_t parts_max) {
  constexpr std::int64_t processors = 132;
  for (const int length : {128, 64}) {
    const std::int64_t tiles =
        ((rows + length - 1) / length) * ((columns + length - 1) / length) * products;
    const std::int64_t parts = (processors + tiles - 1) / tiles;
    if (2 * std::min(rows, columns) > length && parts <= parts_max) return {length, parts};
  }
  const std::int64_t tiles = ((rows + 31) / 32) * ((columns + 31) / 32) * products;
  return {32, std::min(parts_max, (processors + tiles - 1) / tiles)};
}

template <class Words, int length, class Grid, class Product>
void multiply_word_tiles(Grid& grid, const Product& product, const DepthParts& parts = {}) {
  constexpr int warp_height = length / 2;  // two or four warps across, two down
  constexpr int warp_width = length == 128 ? 32 : length / 2;
  using Tile = TensorCoreTile<Product, Words, length, length, warp_height, warp_width>;
  const std::int64_t along = (product.columns + length - 1) / length;
  const std::int64_t tiles = (product.rows + length - 1) / length * along;
  grid.blocks(tiles * product.products * parts.count,
              Tile{.product = product, .tiles_along = along, .tiles = tiles, .parts = parts});
}

// `length`: 128, 64 or 32.
template <class Words, class Grid, class Product>
void multiply_word_tiles(Grid& grid, const Product& product, int length, const DepthParts& parts) {
  switch (length) {
    case 128: return multiply_word_tiles<Words, 128>(grid, product, parts);
    case 64: return multiply_word_tiles<Words, 64>(grid, product, parts);
    default: return multiply_word_tiles<Words, 32>(grid, product, parts);
  }
}

// `apart`: where there is room for so many parts.
template <class Words, class Grid, class Product>
DepthParts multiply_words(Grid& grid, const Product& product, float* apart,
                          std::int64_t parts_max) {
  const WordTiles tiles = choose_tiles(product.rows, product.columns, product.products, parts_max);
  const DepthParts parts{.apart = tiles.parts > 1 ? apart : nullptr, .count = tiles.parts};
  multiply_word_tiles<Words>(grid, product, tiles.length, parts);
  return parts;
}

}  // namespace trainyard::runtime
