// Sums over rows on a grid, in the order of sum_rows (math/ops/reduction.h): blocks of 64 rows one
// row after another, then the blocks pairwise, as a binary tree from the left.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/team.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

inline constexpr std::int64_t rows_of_a_sum = 64;  // and of the tree's nodes those of one thread

// Elements of scratch for `sums` sums of each column, of `groups` matrices side by side.
inline std::int64_t row_sums_scratch(std::int64_t rows, std::int64_t columns, std::int64_t sums = 1,
                                     std::int64_t groups = 1) {
  std::int64_t elements = 0;
  std::int64_t left = rows < 1 ? 1 : rows;
  do {
    left = (left + rows_of_a_sum - 1) / rows_of_a_sum;
    elements += left * columns * sums * groups;
  } while (left > 1);
  return elements;
}

// The tree over at most 64 nodes that lie `stride` apart.
TRAINYARD_BOTH inline float tree_of_nodes(const float* nodes, std::int64_t count,
                                          std::int64_t stride) {
  float waiting[7];  // [i]: a sum of 2^i nodes that waits for its neighbour
  for (std::int64_t i = 0; i < count; ++i) {
    float sum = nodes[i * stride];
    int level = 0;
#pragma unroll
    for (; level < 7 && ((i >> level) & 1) != 0; ++level) sum = waiting[level] + sum;
    waiting[level] = sum;
  }
  float total = 0.0F;
  bool is_there = false;
  for (int level = 0; level < 7; ++level) {
    if (((count >> level) & 1) == 0) continue;
    total = is_there ? waiting[level] + total : waiting[level];
    is_there = true;
  }
  return total;
}

// value(group, row, column, sum) is added up over the rows, for each group, column and sum (below
// `sums`). Returns where they are: [groups, sums, columns], in the scratch; it is read after the
// kernels that were asked for until now.
template <class Grid, class Value>
const float* sum_over_rows(Grid& grid, std::int64_t groups, std::int64_t rows, std::int64_t columns,
                           std::int64_t sums, Tensor scratch, const Value& value) {
  std::int64_t count = (rows + rows_of_a_sum - 1) / rows_of_a_sum;
  if (count < 1) count = 1;
  const std::int64_t lines = groups * sums * columns;
  float* level = scratch.data;  // [groups, sums, count, columns]
  {
    float* const to = level;
    const std::int64_t blocks = count;
    grid.each(lines * blocks, [=] TRAINYARD_KERNEL(std::int64_t i) {
      const std::int64_t column = i % columns;
      const std::int64_t block = i / columns % blocks;
      const std::int64_t line = i / columns / blocks;
      const std::int64_t end =
          (block + 1) * rows_of_a_sum < rows ? (block + 1) * rows_of_a_sum : rows;
      float sum = 0.0F;
      for (std::int64_t row = block * rows_of_a_sum; row < end; ++row) {
        sum += value(line / sums, row, column, line % sums);
      }
      to[i] = sum;
    });
  }
  while (count > 1) {
    const std::int64_t nodes = count;
    count = (count + rows_of_a_sum - 1) / rows_of_a_sum;
    const std::int64_t blocks = count;
    const float* const from = level;
    level += lines * nodes;
    float* const to = level;
    grid.each(lines * blocks, [=] TRAINYARD_KERNEL(std::int64_t i) {
      const std::int64_t column = i % columns;
      const std::int64_t block = i / columns % blocks;
      const std::int64_t line = i / columns / blocks;
      const std::int64_t first = block * rows_of_a_sum;
      const std::int64_t here = nodes - first < rows_of_a_sum ? nodes - first : rows_of_a_sum;
      to[i] = tree_of_nodes(from + (line * nodes + first) * columns + column, here, columns);
    });
  }
  return level;
}

// sums [columns] = the sum over all rows of matrix [rows, columns], or that much more.
template <class Grid>
void sum_rows_on(Grid& grid, ConstTensor matrix, Tensor sums, Write write, Tensor scratch) {
  const std::int64_t columns = matrix.shape.columns();
  const float* const from = matrix.data;
  const float* const total =
      sum_over_rows(grid, 1, matrix.shape.rows(), columns, 1, scratch,
                    [=] TRAINYARD_KERNEL(std::int64_t, std::int64_t row, std::int64_t column,
                                         std::int64_t) { return from[row * columns + column]; });
  float* const to = sums.data;
  grid.each(columns, [=] TRAINYARD_KERNEL(std::int64_t i) {
    to[i] = write == Write::add ? to[i] + total[i] : total[i];
  });
}

}  // namespace trainyard::runtime
