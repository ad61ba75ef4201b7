// Products in tf32 and bfloat16: which tiles, and how many parts of the depth are computed apart.
// Both are functions of the product's sizes and of the room given, so a product has the same bits
// each time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/graph/grid/tensor_core_tile.h"

namespace trainyard::runtime {

template <class Words, int height, int width, int warp_height, int warp_width, class Grid,
          class Product>
void multiply_word_tiles(Grid& grid, const Product& product, const DepthParts& parts) {
  using Tile = TensorCoreTile<Product, Words, height, width, warp_height, warp_width>;
  const std::int64_t along = (product.columns + width - 1) / width;
  const std::int64_t tiles = (product.rows + height - 1) / height * along;
  grid.blocks(tiles * product.products * parts.count,
              Tile{.product = product, .tiles_along = along, .tiles = tiles, .parts = parts});
}

// Parts of the depth, of at most so many, with which tiles of this size occupy a GPU; 0: they do
// not even so.
template <int side, class Product>
std::int64_t parts_to_occupy(const Product& product, std::int64_t most) {
  constexpr std::int64_t processors = 132;
  const std::int64_t tiles =
      ((product.rows + side - 1) / side) * ((product.columns + side - 1) / side) * product.products;
  const std::int64_t wanted = (processors + tiles - 1) / tiles;
  return wanted <= most ? wanted : 0;
}

// In the largest tiles that occupy a GPU, which read least. `most`: parts that there is room for.
template <class Words, class Grid, class Product>
DepthParts multiply_words(Grid& grid, const Product& product, float* apart, std::int64_t most) {
  DepthParts parts{.apart = nullptr, .count = parts_to_occupy<128>(product, most)};
  const bool is_large = parts.count > 0;
  if (!is_large) parts.count = parts_to_occupy<64>(product, most);
  const bool is_middle = !is_large && parts.count > 0;
  if (!is_large && !is_middle) parts.count = most;
  if (parts.count > 1) parts.apart = apart;
  if (is_large) {
    multiply_word_tiles<Words, 128, 128, 64, 32>(grid, product, parts);
  } else if (is_middle) {
    multiply_word_tiles<Words, 64, 64, 32, 32>(grid, product, parts);
  } else {
    multiply_word_tiles<Words, 32, 32, 16, 16>(grid, product, parts);
  }
  return parts;
}

}  // namespace trainyard::runtime
