// The kernel of products in tf32 and bfloat16: tiles of the output are computed by a block of warps
// each, which bring slices of both sides into shared memory as words that tensor cores read. A sum
// goes over the depth without a cut, but where parts of it are computed apart.
#pragma once

#include <cstdint>
#include <type_traits>

#include "runtime/graph/grid/tensor_core.h"
#include "runtime/graph/grid/tensor_core_reads.h"

namespace trainyard::runtime {

// The depth is divided into so many runs of its cuts. The sums of one go to the output; of several
// each to `apart`, where add_cuts() adds them in order.
struct DepthParts {
  float* apart = nullptr;  // [products, parts, rows, columns]
  std::int64_t count = 1;
};

// A block has a tile of `height` rows and `width` columns, a warp `warp_height` x `warp_width` of
// its elements. In step n the block's threads find the places of slice n (of sides that need it:
// else there is no such step), read slice n - 1 and multiply slice n - 2.
template <class Product, class Words, int height, int width, int warp_height, int warp_width>
struct TensorCoreTile {
  static constexpr int warps_across = width / warp_width;
  static constexpr int threads = height / warp_height * warps_across * 32;
  static constexpr int tiles_down = warp_height / 16;
  static constexpr int tiles_across = warp_width / 8;
  static constexpr int slice = words_of_slice * Words::depths;
  static_assert(height % warp_height == 0 && width % warp_width == 0);

  using LeftSide = decltype(Product::left);
  using RightSide = decltype(Product::right);
  template <class Side, int side, bool is_left>
  using Reads = std::conditional_t<StraightSide<Side>, StraightWords<Side, Words, side, threads>,
                                   PlacedWords<Side, Words, side, threads, is_left>>;
  using Left = Reads<LeftSide, height, true>;
  using Right = Reads<RightSide, width, false>;
  using Sums = WarpSums<Words, tiles_down, tiles_across>;
  static constexpr bool has_places = !StraightSide<LeftSide> || !StraightSide<RightSide>;
  // On a GPU's processor: a thread needs up to 255 of its 65,536 registers.
  static constexpr int blocks_at_once = 256 / threads;

  struct Shared {
    SideWords<height> left[2];
    SideWords<width> right[2];
    typename Left::Places left_places;
    typename Right::Places right_places;
  };
  struct At {
    std::int64_t number, part, row, column;
    std::int64_t begin, end;  // of the depth
    bool is_there;            // false: no depth counts for this tile, its output is not written
  };
  struct Slice {
    int count;  // below zero: there is none
    std::int64_t begin;
  };
  struct Thread {
    Sums sums;
    typename Left::Kept left;
    typename Right::Kept right;
    At where;
    std::int64_t depth;
    Slice placed;  // in the step before
    Slice read;
  };

  Product product;
  std::int64_t tiles_along = 1;  // a row of tiles
  std::int64_t tiles = 1;        // of a product
  DepthParts parts;

  [[nodiscard]] TRAINYARD_BOTH At at(std::int64_t block) const {
    const std::int64_t tile = block % tiles;
    const std::int64_t rest = block / tiles;
    At at{};
    at.row = tile / tiles_along * height;
    at.column = tile % tiles_along * width;
    at.number = rest / parts.count;
    at.part = rest % parts.count;
    const std::int64_t cuts = product.cuts.count();
    std::int64_t first = at.part * cuts / parts.count;
    std::int64_t last = (at.part + 1) * cuts / parts.count;
    const std::int64_t counts_first = product.first_cut(at.number, at.row, at.column);
    const std::int64_t counts_end = product.end_cut(at.number, at.row, at.column);
    first = first < counts_first ? counts_first : first;
    last = last < counts_end ? last : counts_end;
    const bool is_any = first < last;
    at.begin = is_any ? product.cuts.begin(first) : 0;
    at.end = is_any ? product.end(at.number, at.row, last - 1) : 0;
    at.is_there = is_any || parts.apart != nullptr;
    return at;
  }

  [[nodiscard]] TRAINYARD_BOTH std::int64_t steps(std::int64_t block) const {
    const At where = at(block);
    if (!where.is_there) return 0;
    const std::int64_t depth = where.end - where.begin;
    return (depth <= 0 ? 1 : (depth + slice - 1) / slice) + (has_places ? 2 : 1);
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
      if (count < 0) store(thread, kept);
    }
    if (count < 0) return;
    Left::keep(product.left, kept.left, left, thread, shared.left[1 - buffer]);
    Right::keep(product.right, kept.right, right, thread, shared.right[1 - buffer]);
  }

 private:
  TRAINYARD_BOTH void start(std::int64_t block, int thread, Thread& kept) const {
    kept.where = at(block);
    kept.depth = kept.where.begin;
    kept.placed = {-1, 0};
    kept.read = {-1, 0};
    kept.sums.clear();
    const At& where = kept.where;
    Left::start(product.left, where.number, where.row, product.rows, where.begin, thread,
                kept.left);
    Right::start(product.right, where.number, where.column, product.columns, where.begin, thread,
                 kept.right);
  }

  // Of an empty depth there is one slice, of nothing.
  TRAINYARD_BOTH Slice next_slice(Thread& kept) const {
    const std::int64_t missing = kept.where.end - kept.depth;
    const bool is_first = kept.depth == kept.where.begin;
    if (missing <= 0 && !is_first) return {-1, kept.depth};
    const Slice next{missing < slice ? static_cast<int>(missing < 0 ? 0 : missing) : slice,
                     kept.depth};
    kept.depth += slice;
    return next;
  }

  static TRAINYARD_BOTH int first_row(int thread) {
    return thread / 32 / warps_across * warp_height;
  }
  static TRAINYARD_BOTH int first_column(int thread) {
    return thread / 32 % warps_across * warp_width;
  }

  static TRAINYARD_BOTH void multiply(const Shared& shared, int buffer, int thread, Thread& kept) {
    constexpr int left_stride = SideWords<height>::stride;
    constexpr int right_stride = SideWords<width>::stride;
#pragma unroll
    for (int word = 0; word < words_of_slice; word += Sums::words_at_once) {
      kept.sums.template multiply<left_stride, right_stride>(
          &shared.left[buffer].of[word][first_row(thread)],
          &shared.right[buffer].of[word][first_column(thread)], thread % 32);
    }
  }

  TRAINYARD_BOTH void store(int thread, const Thread& kept) const {
    const At& where = kept.where;
    const int lane = thread % 32;
    const std::int64_t rows_there = product.rows_of(where.number);
    const std::int64_t part = where.number * parts.count + where.part;
#pragma unroll
    for (int down = 0; down < tiles_down; ++down) {
#pragma unroll
      for (int half = 0; half < 4; half += 2) {
        const std::int64_t row =
            where.row + first_row(thread) + down * 16 + sum_place(lane, half).row;
        if (row >= rows_there) continue;
        float* const to = parts.apart == nullptr
                              ? product.place(where.number, row)
                              : parts.apart + (part * product.rows + row) * product.columns;
#pragma unroll
        for (int across = 0; across < tiles_across; ++across) {
#pragma unroll
          for (int i = half; i < half + 2; ++i) {
            const std::int64_t column =
                where.column + first_column(thread) + across * 8 + sum_place(lane, i).column;
            if (column >= product.columns) continue;
            const float sum = kept.sums.of[down][across][i];
            to[column] =
                parts.apart == nullptr ? first_sum(product, to + column, column, sum) : sum;
          }
        }
      }
    }
  }
};

}  // namespace trainyard::runtime
