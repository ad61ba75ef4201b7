// The kernel of products on a grid (gemm.h): tiles of the output are computed by 256 threads each,
// which bring slices of both sides into shared memory, as in V. Volkov and J. Demmel, "Benchmarking
// GPUs to tune dense linear algebra", SC 2008.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/math/elements/both.h"
#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// A side of products in any layout. Other sides (an image's taps) are types with the same members:
// what a row (of the left side) or a column (of the right) is found by at all depths, what a place
// in the depth is found by in all rows, and the number that lies at both. A place is asked for
// beyond the depth, too, but not read there.
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

struct alignas(16) Quad {
  float of[4];
};

// A block has a tile of `height` rows and `width` columns, a thread some elements of it. In step n
// the block's threads find the places of slice n, read slice n - 1 and multiply slice n - 2.
template <class Product, int height, int width>
struct GemmTile {
  static constexpr int threads = 256;
  static constexpr int across = 16;
  static constexpr int slice = 8;
  static constexpr int rows = height / across;  // of a thread
  static constexpr int columns = width / across;
  static constexpr int left_reads = height * slice / threads;  // of a thread, in a step
  static constexpr int right_reads = width * slice / threads;
  static_assert(threads % height == 0 && threads % width == 0);

  using Left = decltype(Product::left);
  using Right = decltype(Product::right);
  struct Shared {
    alignas(16) float left[2][slice][height + 4];
    alignas(16) float right[2][slice][width + 4];
    alignas(16) typename Left::Place left_places[2][slice];
    alignas(16) typename Right::Place right_places[2][slice];
  };
  struct At {
    std::int64_t number, row, column, first_cut, end_cut;
  };
  struct Slice {
    int count;     // below zero: there is none
    bool is_last;  // of its cut
  };
  struct Thread {
    float sums[rows][columns];    // of the block of the depth that is multiplied
    float totals[rows][columns];  // of those before
    typename Left::Line left[left_reads];
    typename Right::Line right[right_reads];
    At where;
    std::int64_t cut;  // whose places are found
    std::int64_t depth;
    std::int64_t end;
    std::int64_t cut_of_sums;
    Slice placed;  // in the step before
    Slice read;
  };

  Product product;
  std::int64_t tiles_across = 1;
  std::int64_t tiles = 1;  // of a product
  // [products, cuts, rows, columns]: each block computes one cut alone, of some of them.
  float* apart = nullptr;
  std::int64_t first_cut = 0;
  std::int64_t cuts = 1;

  [[nodiscard]] TRAINYARD_BOTH At at(std::int64_t block) const {
    const std::int64_t tile = block % tiles;
    const std::int64_t rest = block / tiles;
    At at{};
    at.row = tile / tiles_across * height;
    at.column = tile % tiles_across * width;
    at.number = apart == nullptr ? rest : rest / cuts;
    if (apart == nullptr) {
      at.first_cut = product.first_cut(at.number, at.row, at.column);
      at.end_cut = product.end_cut(at.number, at.row, at.column);
    } else {
      at.first_cut = first_cut + rest % cuts;
      at.end_cut = at.first_cut + 1;
    }
    return at;
  }

  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t block) const {
    const At where = at(block);
    std::int64_t slices = 0;
    for (std::int64_t cut = where.first_cut; cut < where.end_cut; ++cut) {
      const std::int64_t depth =
          product.end(where.number, where.row, cut) - product.cuts.begin(cut);
      slices += depth <= 0 ? 1 : (depth + slice - 1) / slice;
    }
    return slices + 2;
  }

  TRAINYARD_BOTH void step(std::int64_t block, std::int64_t n, int thread, Shared& shared,
                           Thread& kept) const {
    if (n == 0) start(block, thread, kept);
    const int buffer = static_cast<int>(n % 2);
    const Slice multiplied = kept.read;
    kept.read = kept.placed;
    find_places(buffer, thread, shared, kept);
    float left[left_reads];
    float right[right_reads];
    const int count = kept.read.count;
    if (count >= 0) {
      read<height>(product.left, kept.left, shared.left_places[1 - buffer], count, thread, left);
      read<width>(product.right, kept.right, shared.right_places[1 - buffer], count, thread, right);
    }
    if (multiplied.count >= 0) {
      multiply(shared, buffer, multiplied.count, thread, kept);
      if (multiplied.is_last) {
        flush(kept.cut_of_sums, thread, kept);
        clear(kept);
        ++kept.cut_of_sums;
      }
    }
    if (count < 0) return;
    keep<height>(product.left.is_deep(), left, thread, shared.left[1 - buffer]);
    keep<width>(product.right.is_deep(), right, thread, shared.right[1 - buffer]);
  }

 private:
  TRAINYARD_BOTH void start(std::int64_t block, int thread, Thread& kept) const {
    kept.where = at(block);
    kept.cut = kept.where.first_cut;
    kept.cut_of_sums = kept.cut;
    enter_cut(kept);
    kept.placed = {-1, false};
    kept.read = {-1, false};
    clear(kept);
    find_lines<height>(product.left, kept.where.number, kept.where.row, product.rows, thread,
                       kept.left);
    find_lines<width>(product.right, kept.where.number, kept.where.column, product.columns, thread,
                      kept.right);
  }

  // Few threads find them for all.
  TRAINYARD_BOTH void find_places(int buffer, int thread, Shared& shared, Thread& kept) const {
    constexpr int warp = 32;
    kept.placed.count = -1;
    if (kept.cut >= kept.where.end_cut) return;
    const std::int64_t missing = kept.end - kept.depth;
    kept.placed.count = missing < slice ? static_cast<int>(missing < 0 ? 0 : missing) : slice;
    if (thread < slice) {
      shared.left_places[buffer][thread] = product.left.place(kept.depth + thread);
    } else if (thread >= warp && thread < warp + slice) {
      const int d = thread - warp;
      shared.right_places[buffer][d] = product.right.place(kept.depth + d);
    }
    kept.depth += slice;
    kept.placed.is_last = kept.depth >= kept.end;
    if (kept.placed.is_last && ++kept.cut < kept.where.end_cut) enter_cut(kept);
  }

  TRAINYARD_BOTH void enter_cut(Thread& kept) const {
    kept.depth = product.cuts.begin(kept.cut);
    kept.end = product.end(kept.where.number, kept.where.row, kept.cut);
  }

  static TRAINYARD_BOTH void clear(Thread& kept) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int j = 0; j < columns; ++j) kept.sums[i][j] = 0.0F;
    }
  }

  // Which element of a side's slice the k-th is that a thread reads: (i, depth).
  template <int side>
  static TRAINYARD_BOTH int read_i(bool is_deep, int thread, int k) {
    return is_deep ? thread / slice + k * (threads / slice) : thread % side;
  }
  template <int side>
  static TRAINYARD_BOTH int read_depth(bool is_deep, int thread, int k) {
    return is_deep ? thread % slice : thread / side + k * (threads / side);
  }

  // Beyond the last one there is the last once more, whose sums nobody stores.
  template <int side, class Side, class Line, int reads>
  static TRAINYARD_BOTH void find_lines(const Side& of, std::int64_t number, std::int64_t first,
                                        std::int64_t size, int thread, Line (&lines)[reads]) {
#pragma unroll
    for (int k = 0; k < reads; ++k) {
      const std::int64_t i = first + read_i<side>(of.is_deep(), thread, k);
      lines[k] = of.line(number, i < size ? i : size - 1);
    }
  }

  template <int side, class Side, class Line, class Place, int reads>
  static TRAINYARD_BOTH void read(const Side& from, const Line (&lines)[reads],
                                  const Place (&places)[slice], int count, int thread,
                                  float (&values)[reads]) {
    if (from.is_deep()) {
      const int d = read_depth<side>(true, thread, 0);
      const Place place = places[d];
#pragma unroll
      for (int k = 0; k < reads; ++k) values[k] = d < count ? from.read(lines[k], place) : 0.0F;
    } else {
#pragma unroll
      for (int k = 0; k < reads; ++k) {
        const int d = read_depth<side>(false, thread, k);
        values[k] = d < count ? from.read(lines[k], places[d]) : 0.0F;
      }
    }
  }

  template <int side, int reads>
  static TRAINYARD_BOTH void keep(bool is_deep, const float (&values)[reads], int thread,
                                  float (&to)[slice][side + 4]) {
#pragma unroll
    for (int k = 0; k < reads; ++k) {
      to[read_depth<side>(is_deep, thread, k)][read_i<side>(is_deep, thread, k)] = values[k];
    }
  }

  // Where a thread's k-th of `own` rows (or columns) is in the tile: four are neighbours, or fewer.
  template <int own>
  static TRAINYARD_BOTH int place(int thread, int k) {
    constexpr int group = own < 4 ? own : 4;
    return k / group * (across * group) + thread * group + k % group;
  }

  template <int own, int stride>
  static TRAINYARD_BOTH void load_own(const float (&from)[stride], int thread, float (&to)[own]) {
    if constexpr (own % 4 == 0) {
#pragma unroll
      for (int k = 0; k < own; k += 4) {
        const Quad quad = *reinterpret_cast<const Quad*>(&from[place<own>(thread, k)]);
#pragma unroll
        for (int i = 0; i < 4; ++i) to[k + i] = quad.of[i];
      }
    } else {
#pragma unroll
      for (int k = 0; k < own; ++k) to[k] = from[place<own>(thread, k)];
    }
  }

  static TRAINYARD_BOTH void multiply_place(const Shared& shared, int buffer, int d, int thread,
                                            Thread& kept) {
    float left[rows];
    float right[columns];
    load_own(shared.left[buffer][d], thread / across, left);
    load_own(shared.right[buffer][d], thread % across, right);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        kept.sums[i][j] = std::fma(left[i], right[j], kept.sums[i][j]);
      }
    }
  }

  static TRAINYARD_BOTH void multiply(const Shared& shared, int buffer, int count, int thread,
                                      Thread& kept) {
    if (count == slice) {
#pragma unroll
      for (int d = 0; d < slice; ++d) multiply_place(shared, buffer, d, thread, kept);
    } else {
      for (int d = 0; d < count; ++d) multiply_place(shared, buffer, d, thread, kept);
    }
  }

  // The output is read at once, before anything is stored: else one read waits for another.
  TRAINYARD_BOTH void flush(std::int64_t cut, int thread, Thread& kept) const {
    const At& where = kept.where;
    const bool is_first = cut == where.first_cut;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const std::int64_t row = where.row + place<rows>(thread / across, i);
      const bool is_row = row < product.rows_of(where.number);
      const float* const from =
          is_first && is_row && apart == nullptr ? product.place(where.number, row) : nullptr;
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        const std::int64_t column = where.column + place<columns>(thread % across, j);
        const float sum = kept.sums[i][j];
        float& total = kept.totals[i][j];
        if (!is_first) {
          total += sum;
        } else if (from == nullptr || column >= product.columns) {
          total = sum;
        } else {
          total = cut == 0 ? first_sum(product, from + column, column, sum) : from[column] + sum;
        }
      }
    }
    if (cut + 1 == where.end_cut) store(cut, thread, kept);
  }

  TRAINYARD_BOTH void store(std::int64_t cut, int thread, const Thread& kept) const {
    const At& where = kept.where;
    const std::int64_t at_cut = where.number * cuts + cut - first_cut;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const std::int64_t row = where.row + place<rows>(thread / across, i);
      if (row >= product.rows_of(where.number)) continue;
      float* const to = apart == nullptr ? product.place(where.number, row)
                                         : apart + (at_cut * product.rows + row) * product.columns;
#pragma unroll
      for (int j = 0; j < columns; ++j) {
        const std::int64_t column = where.column + place<columns>(thread % across, j);
        if (column < product.columns) to[column] = kept.totals[i][j];
      }
    }
  }
};

}  // namespace trainyard::runtime
