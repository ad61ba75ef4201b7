#include "runtime/math/ops/reduction.h"

#include <cstdint>

#include "runtime/math/ops/cpu/fold.h"
#include "runtime/math/ops/cpu/row_tree.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

float sum(std::span<const float> values) {
  return fold(
      values.size(), 0.0F, [&](std::size_t i) { return values[i]; },
      [](float a, float b) { return a + b; });
}

double sum_in_double(std::span<const float> values) {
  return fold(
      values.size(), 0.0, [&](std::size_t i) { return static_cast<double>(values[i]); },
      [](double a, double b) { return a + b; });
}

float maximum(std::span<const float> values) {
  return fold(
      values.size(), values[0], [&](std::size_t i) { return values[i]; },
      [](float a, float b) { return a < b ? b : a; });
}

void sum_rows(ConstTensor matrix, Tensor sums, Write write) {
  const std::int64_t columns = matrix.shape.columns();
  ENSURE(sums.elements() == columns);
  for_each_column_strip(columns, [&](std::int64_t first, std::int64_t width) {
    const auto total = sum_of_rows<1>(matrix.shape.rows(), [&](std::int64_t row, RowSums<1>& to) {
      const float* const values = matrix.data + row * columns + first;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < width; ++i) to[0][static_cast<std::size_t>(i)] += values[i];
    });
    float* const into = sums.data + first;
    for (std::int64_t i = 0; i < width; ++i) {
      const float sum = total[0][static_cast<std::size_t>(i)];
      into[i] = write == Write::add ? into[i] + sum : sum;
    }
  });
}

}  // namespace trainyard::runtime
