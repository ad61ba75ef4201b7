#include "runtime/math/ops/reduction.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t lane_count = 16;
constexpr std::int64_t rows_of_a_block = 64;

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

// Columns that are summed at a time: their sums of a block stay in the nearest cache.
constexpr std::int64_t strip_width = 128;
using Strip = std::array<float, strip_width>;

void add_to(Strip& sums, const Strip& more) {
  for (std::size_t column = 0; column < sums.size(); ++column) sums[column] += more[column];
}

Strip sum_of_block(ConstTensor matrix, std::int64_t first_row, std::int64_t first_column,
                   std::int64_t width) {
  const std::int64_t columns = matrix.shape.columns();
  const std::int64_t last_row = std::min(first_row + rows_of_a_block, matrix.shape.rows());
  Strip sums{};
  for (std::int64_t row = first_row; row < last_row; ++row) {
    const float* const values = matrix.data + row * columns + first_column;
#pragma GCC ivdep
    for (std::int64_t column = 0; column < width; ++column) {
      sums[static_cast<std::size_t>(column)] += values[column];
    }
  }
  return sums;
}

// Neighbouring blocks, then neighbouring pairs of them, and so on: `whole[i]` is a sum of 2^i
// blocks that waits for its neighbour, as a digit of a counter does for its carry.
Strip sum_of_strip(ConstTensor matrix, std::int64_t first_column, std::int64_t width) {
  constexpr std::size_t levels = 48;
  std::array<Strip, levels> whole;  // NOLINT: written where `blocks` has the bit
  std::uint64_t blocks = 0;
  for (std::int64_t row = 0; row < matrix.shape.rows(); row += rows_of_a_block, ++blocks) {
    Strip sums = sum_of_block(matrix, row, first_column, width);
    std::size_t level = 0;
    for (; ((blocks >> level) & 1U) != 0; ++level) {
      Strip left = whole[level];
      add_to(left, sums);
      sums = left;
    }
    whole[level] = sums;
  }
  // What is left over has no neighbour: it goes up as it is.
  std::optional<Strip> total;
  for (std::size_t level = 0; level < levels; ++level) {
    if (((blocks >> level) & 1U) == 0) continue;
    Strip left = whole[level];
    if (total) add_to(left, *total);
    total = left;
  }
  return total.value_or(Strip{});
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
  for (std::int64_t first = 0; first < columns; first += strip_width) {
    const std::int64_t width = std::min(strip_width, columns - first);
    const Strip total = sum_of_strip(matrix, first, width);
    float* const into = sums.data + first;
    for (std::int64_t column = 0; column < width; ++column) {
      const float sum = total[static_cast<std::size_t>(column)];
      into[column] = write == Write::add ? into[column] + sum : sum;
    }
  }
}

}  // namespace trainyard::runtime
