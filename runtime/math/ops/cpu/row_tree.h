// Sums over rows in the order that sum_rows documents, of whatever is worked out for a row: blocks
// of 64 rows one after another, then a binary tree over the blocks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

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

// add_row(row, sums) adds the row's values to the sums of its block.
template <std::size_t count, class AddRow>
RowSums<count> sum_of_rows(std::int64_t rows, AddRow add_row) {
  constexpr std::size_t levels = 48;
  // Neighbouring blocks, then neighbouring pairs of them, and so on: `whole[i]` is a sum of 2^i
  // blocks that waits for its neighbour, as a digit of a counter does for its carry.
  std::array<RowSums<count>, levels> whole;  // NOLINT: written where `blocks` has the bit
  std::uint64_t blocks = 0;
  for (std::int64_t first = 0; first < rows; first += rows_of_a_block, ++blocks) {
    RowSums<count> sums{};
    for (std::int64_t row = first; row < std::min(first + rows_of_a_block, rows); ++row) {
      add_row(row, sums);
    }
    std::size_t level = 0;
    for (; ((blocks >> level) & 1U) != 0; ++level) {
      RowSums<count> left = whole[level];
      add_to<count>(left, sums);
      sums = left;
    }
    whole[level] = sums;
  }
  // What is left over has no neighbour: it goes up as it is.
  std::optional<RowSums<count>> total;
  for (std::size_t level = 0; level < levels; ++level) {
    if (((blocks >> level) & 1U) == 0) continue;
    RowSums<count> left = whole[level];
    if (total) add_to<count>(left, *total);
    total = left;
  }
  return total.value_or(RowSums<count>{});
}

// Calls visit(first column, columns) for pieces of at most row_sums_width.
template <class Visit>
void for_each_column_strip(std::int64_t columns, Visit visit) {
  for (std::int64_t first = 0; first < columns; first += row_sums_width) {
    visit(first, std::min(row_sums_width, columns - first));
  }
}

}  // namespace trainyard::runtime
