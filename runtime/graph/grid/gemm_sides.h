// What products on a grid (gemm.h) are made of: sides, cuts of the depth, rows of the output.
#pragma once

#include <cstdint>

#include "runtime/math/elements/both.h"
#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// A side of products in any layout. Other sides (an image's taps) are types with the same members:
// what a row (of the left side) or a column (of the right) is found by at all depths, what a place
// in the depth is found by in all rows, and the number that lies at both. A place is asked for
// beyond the depth, too, but not read there. With has_quads() from every fourth place in the depth
// (of a deep side; else from every fourth row) on four numbers are neighbours, which read_quad()
// reads.
struct Strided {
  using Line = const float*;
  using Place = std::int64_t;

  const float* data = nullptr;
  std::int64_t outer = 0;  // from a row or a column to the next
  std::int64_t along = 0;  // from one place in the depth to the next
  std::int64_t apart = 0;  // from one product's to the next one's

  // Whether neighbours in the depth are neighbours in memory: who reads them together.
  [[nodiscard]] TRAINYARD_BOTH bool is_deep() const { return along == 1; }
  [[nodiscard]] TRAINYARD_BOTH Line line(std::int64_t product, std::int64_t i) const {
    return data + product * apart + i * outer;
  }
  [[nodiscard]] TRAINYARD_BOTH Place place(std::int64_t depth) const { return depth * along; }
  [[nodiscard]] TRAINYARD_BOTH float read(Line line, Place place) const { return line[place]; }
};

// Where the depth is cut into blocks. Other ways are types with the same members.
struct EvenCuts {
  std::int64_t depth = 0;
  std::int64_t each = 1;

  [[nodiscard]] TRAINYARD_BOTH std::int64_t count() const {
    return depth <= each ? 1 : (depth + each - 1) / each;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t begin(std::int64_t block) const { return block * each; }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t end(std::int64_t block) const {
    const std::int64_t end = (block + 1) * each;
    return end < depth ? end : depth;
  }
};
inline EvenCuts cuts_of(std::int64_t depth) { return {depth, depth_block_of(depth)}; }

// Where rows of the output lie: after out, so many times out_stride. Other ways are types with the
// same member.
struct RowsInOrder {
  [[nodiscard]] TRAINYARD_BOTH std::int64_t at(std::int64_t row) const { return row; }
};

// out[i * out_stride + j] = bias[j] + sum over d of left(i, d) * right(j, d), or that much more; of
// `products` such, one beside another. A type made of this may have functions of the same names
// which say that of a product some rows do not count, or of a tile, whose first row and column are
// given, some of the depth.
template <class Left, class Right, class Cuts = EvenCuts, class Rows = RowsInOrder>
struct GridProduct {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  Cuts cuts;
  Left left;
  Right right;
  const float* bias = nullptr;  // [columns]; only with Write::overwrite
  float* out = nullptr;         // overlaps no side
  std::int64_t out_stride = 0;  // from a row to the next
  Write write = Write::overwrite;
  std::int64_t products = 1;
  std::int64_t out_apart = 0;  // from a product's to the next one's
  Rows rows_at = {};

  [[nodiscard]] TRAINYARD_BOTH float* place(std::int64_t product, std::int64_t row) const {
    return out + product * out_apart + rows_at.at(row) * out_stride;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t rows_of(std::int64_t) const { return rows; }
  // Of the depth's blocks those that count, and where they end.
  [[nodiscard]] TRAINYARD_BOTH std::int64_t first_cut(std::int64_t, std::int64_t,
                                                      std::int64_t) const {
    return 0;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t end_cut(std::int64_t, std::int64_t,
                                                    std::int64_t) const {
    return cuts.count();
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t end(std::int64_t, std::int64_t,
                                                std::int64_t cut) const {
    return cuts.end(cut);
  }
};

// An element with the sum of its first block.
template <class Product>
TRAINYARD_BOTH float first_sum(const Product& product, const float* out, std::int64_t column,
                               float sum) {
  if (product.write == Write::add) return *out + sum;
  return product.bias == nullptr ? sum : product.bias[column] + sum;
}

}  // namespace trainyard::runtime
