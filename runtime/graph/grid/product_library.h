// What a library of the GPU's maker is asked for where a host has one (cuBLASLt): products of plain
// matrices, in the terms of BLAS, which has them column by column.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

struct LibrarySizes {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t products = 1;
};

// Smaller ones take a GPU a few microseconds, of which most is the start of a kernel; and one with
// a narrow side is bound by memory, which rounding it first would read twice.
inline bool is_worth_a_library(const LibrarySizes& of) {
  constexpr double multiplications_least = 1 << 27;
  constexpr std::int64_t side_least = 64;
  const double all = static_cast<double>(of.rows) * static_cast<double>(of.columns) *
                     static_cast<double>(of.depth) * static_cast<double>(of.products);
  return all >= multiplications_least && std::min({of.rows, of.columns, of.depth}) >= side_least;
}

// Matrices that lie `apart` from each other, the columns of each `stride` apart; counted in
// elements: of bfloat16 where the device's precision is that, else of float32.
struct LibraryMatrix {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t stride = 0;
  std::int64_t apart = 0;
  bool is_turned = false;  // it is multiplied as [columns, rows]
};

// Each out [rows, columns] = left right, plus bias [rows] for each column, or that much more. Sums
// and out are float32.
struct LibraryProduct {
  LibraryMatrix left;
  LibraryMatrix right;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  std::int64_t products = 1;
  const float* bias = nullptr;  // only with Write::overwrite
  float* out = nullptr;
  std::int64_t out_stride = 0;
  std::int64_t out_apart = 0;
  Write write = Write::overwrite;
};

class ProductLibrary {
 public:
  ProductLibrary() = default;
  virtual ~ProductLibrary() = default;
  ProductLibrary(const ProductLibrary&) = delete;
  ProductLibrary& operator=(const ProductLibrary&) = delete;

  // Whether products of such sizes are for it at all: for those the plan has room for rounded
  // sides.
  [[nodiscard]] virtual bool is_for(const LibrarySizes& sizes) const = 0;
  // Whether it multiplies such a product, always in the same way: by sizes, strides and borders of
  // memory, whatever the numbers are.
  virtual bool takes(const LibraryProduct& product) = 0;
  // One that it takes, in the order of what the device is asked for.
  virtual void multiply(const LibraryProduct& product) = 0;
};

}  // namespace trainyard::runtime
