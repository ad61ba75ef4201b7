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
    depth = what == kAdd ? depth - 1 : depth + 1;
    most = std::max(most, depth);
  }
  ENSURE(depth == 1);
  return most;
}

void add_to(std::span<float> sum, std::span<const float> more) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

}  // namespace

TreeSum::TreeSum(std::vector<GradientReader> parts, std::span<const std::int64_t> order)
    : parts_(std::move(parts)), order_(order), stack_((depth_of(order) - 1) * block) {}

void TreeSum::read(std::span<float> out) {
  ENSURE(out.size() <= block);
  std::size_t depth = 0;
  const auto at = [&](std::size_t level) {
    return level == 0 ? out : stack_.span().subspan((level - 1) * block, out.size());
  };
  for (const std::int64_t what : order_) {
    if (what == kAdd) {
      --depth;
      add_to(at(depth - 1), at(depth));
    } else {
      parts_[static_cast<std::size_t>(what)].read(at(depth));
      ++depth;
    }
  }
}

}  // namespace trainyard::runtime
