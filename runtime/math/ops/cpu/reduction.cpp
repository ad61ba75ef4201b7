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
  return fold_maximum(values.data(), std::ssize(values));
}

void sum_rows(ConstTensor matrix, Tensor sums, Write write, const Threads& threads) {
  constexpr double nanoseconds = 0.2;  // of a number
  const std::int64_t columns = matrix.shape.columns();
  const std::int64_t rows = matrix.shape.rows();
  ENSURE(sums.elements() == columns);
  const auto sum_strip = [&](std::int64_t first, std::int64_t width, const Threads& of_strip) {
    const SharedRows shared{of_strip, rows, nanoseconds * static_cast<double>(width)};
    const auto total = sum_of_rows<1>(shared, [&](std::int64_t row, RowSums<1>& to) {
      const float* const values = matrix.data + row * columns + first;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < width; ++i) to[0][static_cast<std::size_t>(i)] += values[i];
    });
    float* const into = sums.data + first;
    for (std::int64_t i = 0; i < width; ++i) {
      const float sum = total[0][static_cast<std::size_t>(i)];
      into[i] = write == Write::add ? into[i] + sum : sum;
    }
  };
  share_column_strips(threads, columns, nanoseconds * static_cast<double>(rows), sum_strip);
}

}  // namespace trainyard::runtime
