#include "runtime/net/tree_sum.h"

#include <algorithm>
#include <utility>

#include "runtime/core/reduction_tree.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

std::size_t depth_of(std::span<const std::int64_t> order) {
  std::size_t depth = 0;
  std::size_t most = 0;
  for (const std::int64_t what : order) {
    depth = what == addition ? depth - 1 : depth + 1;
    most = std::max(most, depth);
  }
  ENSURE(depth == 1);
  return most;
}

// `sum` may be `left`.
void add(std::span<const float> left, std::span<const float> right, std::span<float> sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = left[i] + right[i];
}

}  // namespace

TreeSum::TreeSum(std::vector<GradientReader> parts, std::span<const std::int64_t> order)
    : parts_(std::move(parts)), order_(order), stack_((depth_of(order) - 1) * stretch) {}

std::span<const float> TreeSum::next(std::span<float> room) {
  ENSURE(room.size() <= stretch);
  sums_.clear();
  const auto at = [&](std::size_t level) {
    return level == 0 ? room : stack_.span().subspan((level - 1) * stretch, room.size());
  };
  for (const std::int64_t what : order_) {
    if (what != addition) {
      sums_.push_back(parts_[static_cast<std::size_t>(what)].view(at(sums_.size())));
      continue;
    }
    const auto right = sums_.back();
    sums_.pop_back();
    const auto sum = at(sums_.size() - 1);
    add(sums_.back(), right, sum);
    sums_.back() = sum;
  }
  return sums_.front();
}

}  // namespace trainyard::runtime
