// The kernel of products on a grid (gemm.h): tiles of the output are computed by a block of threads
// each, which bring slices of both sides into shared memory, as in V. Volkov and J. Demmel,
// "Benchmarking GPUs to tune dense linear algebra", SC 2008.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/graph/grid/gemm_reads.h"
#include "runtime/graph/grid/gemm_sides.h"
#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

// A block has a tile of `height` rows and `width` columns, a thread `rows` x `columns` of its
// elements. In step n the block's threads find the places of slice n (of sides that need it: else
// there is no such step), read slice n - 1 and multiply slice n - 2.
template <class Product, int height, int width, int rows, int columns>
struct GemmTile {
  static constexpr int across = width / columns;  // threads
  static constexpr int down = height / rows;
  static constexpr int threads = across * down;
  static constexpr int slice = 16;
  static constexpr int lanes_across = 8;  // of a warp
  static constexpr int lanes_down = 4;
  static_assert(rows % 4 == 0 && columns % 4 == 0);
  static_assert(across % lanes_across == 0 && down % lanes_down == 0);

  using LeftSide = decltype(Product::left);
  using RightSide = decltype(Product::right);
  template <class Side, int side, bool is_left>
  using Reads =
      std::conditional_t<StraightSide<Side>, QuadReads<Side, side, slice, threads, is_left>,
                         SingleReads<Side, side, slice, threads, is_left>>;
  using Left = Reads<LeftSide, height, true>;
  using Right = Reads<RightSide, width, false>;
  static constexpr bool has_places = !StraightSide<LeftSide> || !StraightSide<RightSide>;

  // On a GPU's processor: threads that have the registers they need.
  static constexpr int blocks_at_once =
      (threads < 256 ? (has_places ? 384 : 448) : (has_places ? 256 : 512)) / threads;

  struct Shared {
    alignas(16) float left[2][slice][height + 4];
    alignas(16) float right[2][slice][width + 4];
    typename Left::Places left_places;
    typename Right::Places right_places;
  };
  struct At {
    std::int64_t number, row, column;
    int first_cut, end_cut;
  };
  struct Slice {
    int count;     // below zero: there is none
    bool is_last;  // of its cut
    std::int64_t begin;
  };
  struct Thread {
    float sums[rows][columns];  // of the block of the depth that is multiplied
    typename Left::Kept left;
    typename Right::Kept right;
    At where;
    int cut;  // of the next slice
    int cut_of_sums;
    std::int64_t depth;
    std::int64_t end;
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
      at.first_cut = static_cast<int>(product.first_cut(at.number, at.row, at.column));
      at.end_cut = static_cast<int>(product.end_cut(at.number, at.row, at.column));
    } else {
      at.first_cut = static_cast<int>(first_cut + rest % cuts);
      at.end_cut = at.first_cut + 1;
    }
    return at;
  }

  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t block) const {
    const At where = at(block);
    std::int64_t slices = 0;
    for (int cut = where.first_cut; cut < where.end_cut; ++cut) {
      const std::int64_t depth =
          product.end(where.number, where.row, cut) - product.cuts.begin(cut);
      slices += depth <= 0 ? 1 : (depth + slice - 1) / slice;
    }
    return slices + (has_places ? 2 : 1);
  }

  TRAINYARD_BOTH void step(std::int64_t block, std::int64_t n, int thread, Shared& shared,
                           Thread& kept) const {
    if (n == 0) start(block, thread, kept);
    const int buffer = static_cast<int>(n % 2);
    const Slice multiplied = kept.read;
    if constexpr (has_places) {
      kept.read = kept.placed;
      kept.placed = next_slice(kept);
      Left::find(product.left, kept.placed.begin, buffer, thread, shared.left_places);
      Right::find(product.right, kept.placed.begin, buffer, thread, shared.right_places);
    } else {
      kept.read = next_slice(kept);
    }
    typename Left::Values left;
    typename Right::Values right;
    const std::int64_t begin = kept.read.begin;
    const int count = kept.read.count;
    if (count >= 0) {
      Left::read(product.left, kept.left, shared.left_places, 1 - buffer, begin, count, thread,
                 left);
      Right::read(product.right, kept.right, shared.right_places, 1 - buffer, begin, count, thread,
                  right);
    }
    if (multiplied.count >= 0) {
      multiply(shared, buffer, thread, kept);
      if (multiplied.is_last) {
        flush(kept.cut_of_sums, thread, kept);
        clear(kept);
        ++kept.cut_of_sums;
      }
    }
    if (count < 0) return;
    Left::keep(product.left, left, thread, shared.left[1 - buffer]);
    Right::keep(product.right, right, thread, shared.right[1 - buffer]);
  }

 private:
  TRAINYARD_BOTH void start(std::int64_t block, int thread, Thread& kept) const {
    kept.where = at(block);
    kept.cut = kept.where.first_cut;
    kept.cut_of_sums = kept.cut;
    enter_cut(kept);
    kept.placed = {-1, false, 0};
    kept.read = {-1, false, 0};
    clear(kept);
    Left::start(product.left, kept.where.number, kept.where.row, product.rows, thread, kept.left);
    Right::start(product.right, kept.where.number, kept.where.column, product.columns, thread,
                 kept.right);
  }

  TRAINYARD_BOTH Slice next_slice(Thread& kept) const {
    if (kept.cut >= kept.where.end_cut) return {-1, false, kept.depth};
    const std::int64_t missing = kept.end - kept.depth;
    Slice next{missing < slice ? static_cast<int>(missing < 0 ? 0 : missing) : slice,
               missing <= slice, kept.depth};
    kept.depth += slice;
    if (next.is_last && ++kept.cut < kept.where.end_cut) enter_cut(kept);
    return next;
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

  // Which of the tile's threads it is: a warp's are a rectangle, that it reads few numbers.
  static TRAINYARD_BOTH int thread_across(int thread) {
    return thread / 32 % (across / lanes_across) * lanes_across + thread % lanes_across;
  }
  static TRAINYARD_BOTH int thread_down(int thread) {
    return thread / 32 / (across / lanes_across) * lanes_down + thread % 32 / lanes_across;
  }

  // Where a thread's k-th quad of rows (or columns) is in the tile.
  template <int of_threads>
  static TRAINYARD_BOTH int place(int thread, int k) {
    return (k * of_threads + thread) * 4;
  }

  template <int own, int of_threads, int stride>
  static TRAINYARD_BOTH void load_own(const float (&from)[stride], int thread, float (&to)[own]) {
#pragma unroll
    for (int k = 0; k < own / 4; ++k) {
      const Quad quad = *reinterpret_cast<const Quad*>(&from[place<of_threads>(thread, k)]);
#pragma unroll
      for (int i = 0; i < 4; ++i) to[4 * k + i] = quad.of[i];
    }
  }

  static TRAINYARD_BOTH void multiply(const Shared& shared, int buffer, int thread, Thread& kept) {
    const int row = thread_down(thread);
    const int column = thread_across(thread);
#pragma unroll
    for (int d = 0; d < slice; ++d) {
      float left[rows];
      float right[columns];
      load_own<rows, down>(shared.left[buffer][d], row, left);
      load_own<columns, across>(shared.right[buffer][d], column, right);
#pragma unroll
      for (int i = 0; i < rows; ++i) {
#pragma unroll
        for (int j = 0; j < columns; ++j) {
          kept.sums[i][j] = std::fma(left[i], right[j], kept.sums[i][j]);
        }
      }
    }
  }

  // Adds a cut's sums to the output. Of two rows at once what is there is read before anything is
  // stored: else one read waits for another.
  TRAINYARD_BOTH void flush(int cut, int thread, const Thread& kept) const {
    constexpr int at_once = 1;
    const At& where = kept.where;
    const bool is_added = apart == nullptr && (cut > 0 || product.write == Write::add);
    const float* const bias = apart == nullptr && cut == 0 && !is_added ? product.bias : nullptr;
    const std::int64_t rows_there = product.rows_of(where.number);
    const std::int64_t at_cut = where.number * cuts + cut - first_cut;
#pragma unroll
    for (int begin = 0; begin < rows; begin += at_once) {
      float* to[at_once];
      Quad before[at_once][columns / 4];
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        const std::int64_t row =
            where.row + place<down>(thread_down(thread), (begin + i) / 4) + (begin + i) % 4;
        to[i] = nullptr;
        if (row >= rows_there) continue;
        to[i] = apart == nullptr ? product.place(where.number, row)
                                 : apart + (at_cut * product.rows + row) * product.columns;
#pragma unroll
        for (int k = 0; k < columns / 4; ++k) {
          const std::int64_t column = where.column + place<across>(thread_across(thread), k);
          load_before(is_added ? to[i] : nullptr, bias, column, before[i][k]);
        }
      }
#pragma unroll
      for (int i = 0; i < at_once; ++i) {
        if (to[i] == nullptr) continue;
#pragma unroll
        for (int k = 0; k < columns / 4; ++k) {
          const std::int64_t column = where.column + place<across>(thread_across(thread), k);
          Quad sums;
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            const float sum = kept.sums[begin + i][4 * k + e];
            sums.of[e] = is_added || bias != nullptr ? before[i][k].of[e] + sum : sum;
          }
          store(sums, to[i], column);
        }
      }
    }
  }

  TRAINYARD_BOTH void load_before(const float* out, const float* bias, std::int64_t column,
                                  Quad& before) const {
    const float* const from = out == nullptr ? bias : out;
    if (from == nullptr) return;
    if (column + 4 <= product.columns && is_quad(from + column)) {
      before = *reinterpret_cast<const Quad*>(from + column);
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        before.of[e] = column + e < product.columns ? from[column + e] : 0.0F;
      }
    }
  }

  TRAINYARD_BOTH void store(const Quad& sums, float* to, std::int64_t column) const {
    if (column + 4 <= product.columns && is_quad(to + column)) {
      *reinterpret_cast<Quad*>(to + column) = sums;
    } else {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (column + e < product.columns) to[column + e] = sums.of[e];
      }
    }
  }
};

}  // namespace trainyard::runtime
