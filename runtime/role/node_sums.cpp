#include "runtime/role/node_sums.h"

#include <ranges>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

void add(std::span<float> sum, std::span<const float> right, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) sum[i] += right[i];
}

}  // namespace

Result<bool> NodeSums::add_up(Leaves node, NodeSum sum, const Leaf& leaf) {
  waiting_.clear();
  settled_ = elements_;
  return add_up(node, 0, sum, true, leaf);
}

// Every addition is of one element of two sums, so their order by element is free: that of the
// tree's nodes, from the leaves up, is kept.
void NodeSums::settle(std::size_t from) {
  ENSURE(from <= settled_);
  for (const Waiting& node : std::views::reverse(waiting_)) {
    add(node.sum, node.right, from, settled_);
  }
  settled_ = from;
}

Result<bool> NodeSums::add_up(Leaves node, std::size_t depth, NodeSum sum, bool is_last,
                              const Leaf& leaf) {
  if (node.count() == 1) return leaf(node.begin, sum);
  const std::int64_t middle = divide(node);
  TRY_ASSIGN(const bool left_done, add_up({node.begin, middle}, depth + 1, sum, false, leaf));
  if (!left_done) return false;
  while (scratch_.size() <= depth) scratch_.emplace_back(elements_);
  RowGradients right_rows;
  const NodeSum right{scratch_[depth].span(), right_rows};
  if (is_last) waiting_.push_back({sum.dense, right.dense});
  TRY_ASSIGN(const bool right_done, add_up({middle, node.end}, depth + 1, right, is_last, leaf));
  if (!right_done) return false;
  add(sum.dense, right.dense, 0, is_last ? settled_ : elements_);
  if (row_width_ > 0) sum.rows = add_rows(sum.rows, right_rows, row_width_);
  return true;
}

}  // namespace trainyard::runtime
