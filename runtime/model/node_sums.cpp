#include "runtime/model/node_sums.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

void add(std::span<float> sum, std::span<const float> right, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) sum[i] += right[i];
}

}  // namespace

Result<bool> NodeSums::add_up(Leaves node, NodeSum sum, const Leaf& leaf) {
  waiting_.clear();
  settled_ = shape_.state;
  end_ = node.end;
  return add_below({.node = node}, sum, leaf);
}

// Every addition is of one element of two sums, so their order by element is free: that of the
// tree's nodes, from the leaves up, is kept.
void NodeSums::settle(std::size_t from) {
  if (from >= settled_) return;
  for (std::size_t i = waiting_.size(); i > 0; --i) {
    add(waiting_[i - 1].sum, waiting_[i - 1].right, from, settled_);
  }
  settled_ = from;
}

Result<bool> NodeSums::add_below(Place place, NodeSum sum, const Leaf& leaf) {
  const auto [node, depth] = place;
  if (node.count() == 1) return leaf(node.begin, sum);
  const std::int64_t middle = divide(node);
  const bool is_last = node.end == end_;  // the last leaf is among them
  TRY_ASSIGN(const bool left_done, add_below({{node.begin, middle}, depth + 1}, sum, leaf));
  if (!left_done) return false;
  while (scratch_.size() <= depth) scratch_.emplace_back(shape_.elements);
  RowGradients right_rows;
  const NodeSum right{scratch_[depth].span(), right_rows};
  if (is_last) waiting_.push_back({sum.dense, right.dense});
  TRY_ASSIGN(const bool right_done, add_below({{middle, node.end}, depth + 1}, right, leaf));
  if (!right_done) return false;
  add(sum.dense, right.dense, 0, is_last ? settled_ : shape_.state);
  add(sum.dense, right.dense, shape_.state, shape_.elements);
  if (!shape_.row_widths.empty()) {
    sum.rows = add_rows(sum.rows, right_rows, shape_.row_widths);
  }
  return true;
}

}  // namespace trainyard::runtime
