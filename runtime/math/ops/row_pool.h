// Pooling of embedding rows: of each example the rows of its elements become one vector. Rows and
// elements are added in the order of the elements: the same bits everywhere.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/sparse_rows.h"
#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

// Which elements, rows and columns.
struct RowPool {
  SparseView x;                          // the examples; its values weigh the rows
  std::span<const std::int32_t> places;  // by element of x: its row
  std::int64_t width = 0;                // of a row
  std::int64_t first = 0;                // the first column that is pooled
  bool mean = false;                     // divided by the example's number of elements
  // Offsets that say how many these are, where some elements of x stand for several; empty: x's.
  std::span<const std::int64_t> counted{};
};

// pooled [examples, columns] = the sum of value * rows[place][first + column]; zero for an example
// without elements. rows [rows, width].
void pool_rows(const RowPool& pool, std::span<const float> rows, Tensor pooled);

// Adds to `gradients` [rows, width], in the pooled columns.
void pool_rows_gradient(const RowPool& pool, ConstTensor pooled_gradient,
                        std::span<float> gradients);

// sum = a + b, of one shape; and what flows back, to each of them. The sum may lie where a or b
// lies.
void add(ConstTensor a, ConstTensor b, Tensor sum);
void pass_on(ConstTensor gradient, Tensor into, Write write, const Threads& threads = {});

}  // namespace trainyard::runtime
