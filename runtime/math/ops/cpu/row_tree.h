// Sums over rows in the order that sum_rows documents, of whatever is worked out for a row: blocks
// of 64 rows one after another, then a binary tree over the blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/math/avx512.h"
#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

// Columns that are summed at a time: their sums of a block stay in the nearest cache.
inline constexpr std::int64_t row_sums_width = 128;
inline constexpr std::int64_t rows_of_a_block = 64;

// `count` sums for each column.
template <std::size_t count>
using RowSums = std::array<std::array<float, row_sums_width>, count>;

template <std::size_t count>
void add_to(RowSums<count>& sums, const RowSums<count>& more) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t column = 0; column < row_sums_width; ++column) {
      sums[i][column] += more[i][column];
    }
  }
}

// The binary tree over blocks, which are given to it one after another.
template <std::size_t count>
class BlockTree {
 public:
  void add(RowSums<count> sums) {
    std::size_t level = 0;
    for (; ((blocks_ >> level) & 1U) != 0; ++level) {
      RowSums<count> left = whole_[level];
      add_to<count>(left, sums);
      sums = left;
    }
    whole_[level] = sums;
    ++blocks_;
  }

  // What is left over has no neighbour: it goes up as it is.
  [[nodiscard]] RowSums<count> total() const {
    std::optional<RowSums<count>> total;
    for (std::size_t level = 0; level < levels; ++level) {
      if (((blocks_ >> level) & 1U) == 0) continue;
      RowSums<count> left = whole_[level];
      if (total) add_to<count>(left, *total);
      total = left;
    }
    return total.value_or(RowSums<count>{});
  }

 private:
  static constexpr std::size_t levels = 48;
  // Neighbouring blocks, then neighbouring pairs of them, and so on: `whole_[i]` is a sum of 2^i
  // blocks that waits for its neighbour, as a digit of a counter does for its carry.
  std::array<RowSums<count>, levels> whole_;  // NOLINT: written where `blocks_` has the bit
  std::uint64_t blocks_ = 0;
};

// add_row(row, sums) adds the row's values to the sums of its block.
template <std::size_t count, class AddRow>
RowSums<count> sum_of_rows(std::int64_t rows, AddRow add_row) {
  BlockTree<count> tree;
  for (std::int64_t first = 0; first < rows; first += rows_of_a_block) {
    RowSums<count> sums{};
    by_vectors([&] {
      for (std::int64_t row = first; row < std::min(first + rows_of_a_block, rows); ++row) {
        add_row(row, sums);
      }
    });
    tree.add(sums);
  }
  return tree.total();
}

// What several threads share: a row takes one of them so long, roughly.
struct SharedRows {
  const Threads& threads;
  std::int64_t count = 0;
  double nanoseconds_each = 0;
};

// The same bits by several threads: each sums some branches of the tree, of one size, a power of
// two; what the last one lacks makes no difference, as it goes up unchanged.
template <std::size_t count, class AddRow>
RowSums<count> sum_of_rows(const SharedRows& rows, AddRow add_row) {
  const double work = static_cast<double>(rows.count) * rows.nanoseconds_each;
  if (rows.count <= rows_of_a_block || rows.threads.parts_of(work) == 1) {
    return sum_of_rows<count>(rows.count, add_row);
  }
  constexpr std::int64_t branches_max = 64;
  std::int64_t size = rows_of_a_block;
  while (size * branches_max < rows.count) size *= 2;
  const std::int64_t branches = (rows.count + size - 1) / size;
  std::array<RowSums<count>, branches_max> sums;  // NOLINT: written before they are read
  const Items items{.count = branches, .nanoseconds_each = work / static_cast<double>(branches)};
  rows.threads.split(items, [&](const Part& part) {
    for (std::int64_t branch = part.begin; branch < part.end; ++branch) {
      const std::int64_t first = branch * size;
      sums[static_cast<std::size_t>(branch)] = sum_of_rows<count>(
          std::min(size, rows.count - first),
          [&](std::int64_t row, RowSums<count>& to) { add_row(first + row, to); });
    }
  });
  BlockTree<count> tree;
  for (std::int64_t branch = 0; branch < branches; ++branch) {
    tree.add(sums[static_cast<std::size_t>(branch)]);
  }
  return tree.total();
}

// Sums of some columns, to where somebody wants them.
inline void store_sums_of(const float* sums, std::int64_t first, std::int64_t count, Tensor to,
                          Write write) {
  if (to.data == nullptr) return;
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = to.data[first + i];
    value = write == Write::add ? value + sums[i] : sums[i];
  }
}

// Calls visit(first column, columns) for pieces of at most row_sums_width.
template <class Visit>
void for_each_column_strip(std::int64_t columns, Visit visit) {
  for (std::int64_t first = 0; first < columns; first += row_sums_width) {
    visit(first, std::min(row_sums_width, columns - first));
  }
}

// The same by several threads, who share the pieces, or each piece where one has work for all of
// them: visit(first column, columns, threads for them). A column takes one thread so long, roughly.
template <class Visit>
void share_column_strips(const Threads& threads, std::int64_t columns, double nanoseconds_each,
                         Visit visit) {
  const std::int64_t strips = (columns + row_sums_width - 1) / row_sums_width;
  const double strip_work = static_cast<double>(row_sums_width) * nanoseconds_each;
  if (strips == 1 || threads.parts_of(strip_work) == threads.count()) {
    return for_each_column_strip(
        columns, [&](std::int64_t first, std::int64_t width) { visit(first, width, threads); });
  }
  threads.split({.count = strips, .nanoseconds_each = strip_work}, [&](const Part& part) {
    const std::int64_t begin = part.begin * row_sums_width;
    const std::int64_t end = std::min(part.end * row_sums_width, columns);
    for_each_column_strip(end - begin, [&](std::int64_t first, std::int64_t width) {
      visit(begin + first, width, Threads{});
    });
  });
}

}  // namespace trainyard::runtime
