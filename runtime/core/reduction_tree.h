// The one order in which the gradients of a sync step are added, whoever computes them: a fixed
// binary tree over the step's leaves (its micro-batches, or the workers' batches). A node over n >
// 1 leaves adds its left child, over the largest power of two below n, and its right child, over
// the rest. A worker adds up the subtrees that lie within its leaves and sends their sums; a ps
// goes on where they end. So the bits do not depend on the number of workers.
#pragma once

#include <cstdint>
#include <vector>

namespace trainyard::runtime {

// Leaves [begin, end) of a step.
struct Leaves {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
  bool operator==(const Leaves&) const = default;
};

// Where a node over `node` (of two leaves or more) is divided: the first leaf of its right child.
std::int64_t divide(Leaves node);

// How many of the nodes of two leaves or more that lie within `node` end with this leaf, which is
// one of its: so many sums of left children are added to, one after another, once it is computed.
std::int64_t nodes_that_end_with(std::int64_t leaf, Leaves node);

// The leaves of a rank: all ranks' are together [0, leaves), in order of rank, as equal as they can
// be. leaves >= ranks.
Leaves leaves_of(std::int64_t rank, std::int64_t ranks, std::int64_t leaves);

// The largest nodes of the tree over [0, leaves) that lie within `owned`, in order. At most about
// 2 log2(leaves) of them; one where ranks are a power of two that divides the leaves' number.
std::vector<Leaves> roots_of(Leaves owned, std::int64_t leaves);

// How to add the sums of nodes that together are the whole tree, on a stack: a number pushes the
// sum of that node, addition adds the top (the right child) to the one below it (the left).
inline constexpr std::int64_t addition = -1;
std::vector<std::int64_t> addition_order(const std::vector<Leaves>& nodes, std::int64_t leaves);

}  // namespace trainyard::runtime
