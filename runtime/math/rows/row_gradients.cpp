#include "runtime/math/rows/row_gradients.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/core/reduction_tree.h"
#include "runtime/core/row_layout.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

void append(const RowGradients& from, std::size_t row, std::size_t width, RowGradients& to) {
  to.ids.push_back(from.ids[row]);
  const auto begin = from.rows.begin() + static_cast<std::ptrdiff_t>(row * width);
  to.rows.insert(to.rows.end(), begin, begin + static_cast<std::ptrdiff_t>(width));
}

}  // namespace

RowGradients add_rows(const RowGradients& left, const RowGradients& right, std::int64_t columns) {
  const auto width = static_cast<std::size_t>(columns);
  RowGradients sum;
  sum.ids.reserve(left.ids.size() + right.ids.size());
  sum.rows.reserve(left.rows.size() + right.rows.size());
  std::size_t l = 0;
  std::size_t r = 0;
  while (l < left.ids.size() || r < right.ids.size()) {
    const bool left_is_next =
        r == right.ids.size() || (l < left.ids.size() && left.ids[l] <= right.ids[r]);
    if (!left_is_next) {
      append(right, r++, width, sum);
      continue;
    }
    append(left, l, width, sum);
    if (r < right.ids.size() && right.ids[r] == left.ids[l]) {
      float* const to = sum.rows.data() + sum.rows.size() - width;
      const float* const from = right.rows.data() + r++ * width;
      for (std::size_t i = 0; i < width; ++i) to[i] += from[i];
    }
    ++l;
  }
  return sum;
}

std::vector<std::int64_t> add_ids(std::span<const std::int64_t> left,
                                  std::span<const std::int64_t> right) {
  std::vector<std::int64_t> sum;
  sum.reserve(left.size() + right.size());
  std::ranges::set_union(left, right, std::back_inserter(sum));
  return sum;
}

RowGradients sum_of_rows(std::vector<RowGradients> parts, std::span<const std::int64_t> order,
                         std::int64_t width) {
  std::vector<RowGradients> stack;
  for (const std::int64_t next : order) {
    if (next != addition) {
      stack.push_back(std::move(parts[static_cast<std::size_t>(next)]));
      continue;
    }
    ENSURE(stack.size() >= 2);
    const RowGradients right = std::move(stack.back());
    stack.pop_back();
    stack.back() = add_rows(stack.back(), right, width);
  }
  ENSURE(stack.size() == 1);
  return std::move(stack.front());
}

std::vector<RowGradients> split_by_owner(RowGradients gradients, std::int64_t owners,
                                         std::int64_t width) {
  std::vector<RowGradients> shares(static_cast<std::size_t>(owners));
  if (owners == 1) {
    shares.front() = std::move(gradients);
    return shares;
  }
  for (std::size_t row = 0; row < gradients.ids.size(); ++row) {
    const auto owner = static_cast<std::size_t>(owner_of_row(gradients.ids[row], owners));
    append(gradients, row, static_cast<std::size_t>(width), shares[owner]);
  }
  return shares;
}

}  // namespace trainyard::runtime
