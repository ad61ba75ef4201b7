#include "runtime/math/rows/row_bags.h"

#include <algorithm>
#include <string>
#include <utility>

#include "runtime/math/ops/row_pool.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

RowPool pool_of(const SparseRows& bags, std::int64_t width) {
  return {.x = bags.view(), .places = bags.columns, .width = width};
}

Shape shape_of(const SparseRows& bags, std::int64_t width) { return {bags.view().rows(), width}; }

}  // namespace

Status check_bags(const SparseRows& bags, std::int64_t rows) {
  const auto elements = std::ssize(bags.columns);
  if (bags.offsets.empty() || bags.offsets.front() != 0 || bags.offsets.back() != elements ||
      !std::ranges::is_sorted(bags.offsets)) {
    return invalid("bags of other sizes than their elements");
  }
  if (std::ssize(bags.values) != elements) {
    return invalid(std::to_string(bags.values.size()) + " values for " + std::to_string(elements) +
                   " elements of bags");
  }
  for (const std::int32_t column : bags.columns) {
    if (column < 0 || column >= rows) {
      return invalid("an element of row " + std::to_string(column) + ", of " +
                     std::to_string(rows));
    }
  }
  return ok();
}

std::vector<float> pool_bags(const SparseRows& bags, std::span<const float> rows,
                             std::int64_t width) {
  std::vector<float> pooled(static_cast<std::size_t>(bags.view().rows() * width));
  pool_rows(pool_of(bags, width), rows, Tensor{pooled.data(), shape_of(bags, width)});
  return pooled;
}

RowGradients spread_bags(std::vector<std::int64_t> ids, const SparseRows& bags,
                         std::span<const float> gradients, std::int64_t width) {
  ENSURE(std::ssize(gradients) == bags.view().rows() * width);
  RowGradients spread{.ids = std::move(ids), .rows = {}};
  spread.rows.resize(spread.ids.size() * static_cast<std::size_t>(width));
  pool_rows_gradient(pool_of(bags, width), ConstTensor{gradients.data(), shape_of(bags, width)},
                     spread.rows);
  return spread;
}

}  // namespace trainyard::runtime
