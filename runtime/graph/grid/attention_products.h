// What attention multiplies on a grid: products of (example, head) side by side, of which those
// keys are left out that the CPU leaves out (math/ops/cpu/attention.h): behind the last query of a
// block of 64, and beyond an example's length.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/gemm.h"
#include "runtime/math/ops/cpu/attention.h"

namespace trainyard::runtime {

// A pair is an example and a head; `number` counts those of a group, from its first one on.
struct HeadPairs {
  std::int64_t first = 0;
  std::int64_t heads = 1;

  [[nodiscard]] TRAINYARD_BOTH std::uint32_t example_of(std::int64_t number) const {
    return static_cast<std::uint32_t>(first + number) / static_cast<std::uint32_t>(heads);
  }
  [[nodiscard]] TRAINYARD_BOTH std::uint32_t head_of(std::int64_t number) const {
    return static_cast<std::uint32_t>(first + number) % static_cast<std::uint32_t>(heads);
  }
};

// Where a pair's features are in a tensor [examples, time, features].
struct HeadPlaces {
  HeadPairs pairs;
  std::int64_t depth = 0;     // features of a head
  std::int64_t features = 0;  // of a place in time
  std::int64_t time = 0;

  [[nodiscard]] TRAINYARD_BOTH std::int64_t at(std::int64_t number) const {
    return pairs.example_of(number) * time * features + pairs.head_of(number) * depth;
  }
};

// A side of a product (see Strided).
struct HeadSide {
  using Line = const float*;
  using Place = std::int64_t;

  const float* data = nullptr;
  HeadPlaces places;
  std::int64_t outer = 0;
  std::int64_t along = 0;

  [[nodiscard]] TRAINYARD_BOTH bool is_deep() const { return along == 1; }
  [[nodiscard]] TRAINYARD_BOTH Line line(std::int64_t product, std::int64_t i) const {
    return data + places.at(product) + i * outer;
  }
  [[nodiscard]] TRAINYARD_BOTH Place place(std::int64_t depth) const { return depth * along; }
  [[nodiscard]] TRAINYARD_BOTH float read(Line line, Place place) const { return line[place]; }
};

// How many keys are seen.
struct SeenKeys {
  HeadPairs pairs;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  bool is_causal = false;
  const std::int32_t* lengths = nullptr;  // by example, or none

  [[nodiscard]] TRAINYARD_BOTH std::int64_t by_any(std::int64_t number) const {
    if (lengths == nullptr) return keys;
    const std::int64_t length = lengths[pairs.example_of(number)];
    return length < keys ? length : keys;
  }
  // By the last query of the block.
  [[nodiscard]] TRAINYARD_BOTH std::int64_t by_block_of(std::int64_t number,
                                                        std::int64_t query) const {
    const std::int64_t seen = by_any(number);
    if (!is_causal) return seen;
    const std::int64_t block_end = (query / queries_of_a_block + 1) * queries_of_a_block;
    const std::int64_t end = block_end < queries ? block_end : queries;
    return end < seen ? end : seen;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t by(std::int64_t number, std::int64_t query) const {
    const std::int64_t seen = by_any(number);
    return is_causal && query + 1 < seen ? query + 1 : seen;
  }
};

// Of queries with keys: [pairs, queries, keys]. Its tiles are of a block of queries each.
struct ScoreProduct : GridProduct<HeadSide, HeadSide> {
  SeenKeys seen;

  [[nodiscard]] TRAINYARD_BOTH std::int64_t end_cut(std::int64_t number, std::int64_t row,
                                                    std::int64_t column) const {
    return column < seen.by_block_of(number, row) ? cuts.count() : 0;
  }
};

// Of the queries' weights with values of the keys, from query `first_query` on.
struct ProductOverKeys : GridProduct<Strided, HeadSide> {
  SeenKeys seen;
  HeadPlaces out_places;
  std::int64_t first_query = 0;

  [[nodiscard]] TRAINYARD_BOTH float* place(std::int64_t number, std::int64_t row) const {
    return out + out_places.at(number) + row * out_stride;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t end_cut(std::int64_t number, std::int64_t row,
                                                    std::int64_t) const {
    return (seen.by_block_of(number, first_query + row) + cuts.each - 1) / cuts.each;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t end(std::int64_t number, std::int64_t row,
                                                std::int64_t cut) const {
    const std::int64_t all = cuts.end(cut);
    const std::int64_t last = seen.by_block_of(number, first_query + row);
    return last < all ? last : all;
  }
};

// Of the keys' weights with values of the queries, from query `first_query` on: the depth's cuts
// are the blocks of queries.
struct ProductOverQueries : GridProduct<Strided, HeadSide> {
  SeenKeys seen;
  HeadPlaces out_places;
  std::int64_t first_query = 0;

  [[nodiscard]] TRAINYARD_BOTH float* place(std::int64_t number, std::int64_t row) const {
    return out + out_places.at(number) + row * out_stride;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t rows_of(std::int64_t number) const {
    return seen.by_any(number);
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t first_cut(std::int64_t, std::int64_t row,
                                                      std::int64_t) const {
    if (!seen.is_causal || row <= first_query) return 0;
    const std::int64_t first = row / queries_of_a_block - first_query / queries_of_a_block;
    return first < cuts.count() ? first : cuts.count();
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t end_cut(std::int64_t number, std::int64_t row,
                                                    std::int64_t) const {
    return row < rows_of(number) ? cuts.count() : 0;
  }
};

// In tiles that lie within one block of queries each, as many as occupy a GPU.
template <class Grid, class Product>
void multiply_heads_exactly(Grid& grid, const Product& product) {
  constexpr std::int64_t enough = 128;
  if (product.columns <= 32 && tiles_for<64, 32>(product) * product.products >= enough) {
    multiply_tiles<64, 32, 8, 4>(grid, product, SomeCuts{});
  } else if (tiles_for<64, 64>(product) * product.products >= enough) {
    multiply_tiles<64, 64, 8, 8>(grid, product, SomeCuts{});
  } else {
    multiply_tiles<32, 32, 4, 4>(grid, product, SomeCuts{});
  }
}

template <class Words, class Grid, class Product>
void multiply_heads_rounded(Grid& grid, const Product& product) {
  constexpr std::int64_t enough = 128;
  if (tiles_for<64, 64>(product) * product.products >= enough) {
    multiply_word_tiles<Words, 64>(grid, product);
  } else {
    multiply_word_tiles<Words, 32>(grid, product);
  }
}

template <class Grid, class Product>
void multiply_heads(Grid& grid, const Product& product) {
  if (product.rows * product.columns * product.products == 0) return;
  switch (grid.precision()) {
    case Precision::float32: return multiply_heads_exactly(grid, product);
    case Precision::tf32: return multiply_heads_rounded<Tf32Words>(grid, product);
    case Precision::bfloat16: return multiply_heads_rounded<Bfloat16Words>(grid, product);
  }
}

}  // namespace trainyard::runtime
