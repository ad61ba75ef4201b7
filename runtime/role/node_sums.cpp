#include "runtime/role/node_sums.h"

namespace trainyard::runtime {

Result<bool> NodeSums::add_up(Leaves node, std::size_t depth, NodeSum sum, const Leaf& leaf) {
  if (node.count() == 1) return leaf(node.begin, sum);
  const std::int64_t middle = divide(node);
  TRY_ASSIGN(const bool left_done, add_up({node.begin, middle}, depth + 1, sum, leaf));
  if (!left_done) return false;
  while (scratch_.size() <= depth) scratch_.emplace_back(elements_);
  RowGradients right_rows;
  const NodeSum right{scratch_[depth].span(), right_rows};
  TRY_ASSIGN(const bool right_done, add_up({middle, node.end}, depth + 1, right, leaf));
  if (!right_done) return false;
  for (std::size_t i = 0; i < elements_; ++i) sum.dense[i] += right.dense[i];
  if (row_width_ > 0) sum.rows = add_rows(sum.rows, right_rows, row_width_);
  return true;
}

}  // namespace trainyard::runtime
