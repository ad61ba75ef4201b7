#include "runtime/math/ops/reduction.h"
#include "schemas/base/check.h"

#include <algorithm>
#include <array>

namespace trainyard::runtime {
namespace {

constexpr std::size_t lane_count = 16;

// Folds values into lanes (value i into lane i % 16), then lanes into one.
template <class Number, class Combine>
Number fold(std::span<const float> values, Number start, Combine combine) {
  std::array<Number, lane_count> lanes;
  lanes.fill(start);
  std::size_t i = 0;
  for (; i + lane_count <= values.size(); i += lane_count) {
    for (std::size_t lane = 0; lane < lane_count; ++lane) {
      lanes[lane] = combine(lanes[lane], static_cast<Number>(values[i + lane]));
    }
  }
  for (std::size_t lane = 0; i < values.size(); ++i, ++lane) {
    lanes[lane] = combine(lanes[lane], static_cast<Number>(values[i]));
  }
  for (std::size_t width = lane_count / 2; width > 0; width /= 2) {
    for (std::size_t lane = 0; lane < width; ++lane) {
      lanes[lane] = combine(lanes[lane], lanes[lane + width]);
    }
  }
  return lanes[0];
}

}  // namespace

float sum(std::span<const float> values) {
  return fold(values, 0.0F, [](float a, float b) { return a + b; });
}

double sum_in_double(std::span<const float> values) {
  return fold(values, 0.0, [](double a, double b) { return a + b; });
}

float maximum(std::span<const float> values) {
  return fold(values, values[0], [](float a, float b) { return a < b ? b : a; });
}

void sum_rows(ConstTensor matrix, Tensor sums, Write write) {
  const std::int64_t columns = matrix.shape.columns();
  ENSURE(sums.elements() == columns);
  if (write == Write::overwrite) std::fill_n(sums.data, columns, 0.0F);
  for (std::int64_t row = 0; row < matrix.shape.rows(); ++row) {
    const float* const values = matrix.data + row * columns;
#pragma GCC ivdep
    for (std::int64_t column = 0; column < columns; ++column) sums.data[column] += values[column];
  }
}

}  // namespace trainyard::runtime
