// The sums of the reduction tree's nodes that one task computes (runtime/core/reduction_tree).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "runtime/core/reduction_tree.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/rows/row_gradients.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// Of a node: the arena's gradient, and the table's rows'.
struct NodeSum {
  std::span<float> dense;
  RowGradients& rows;
};

class NodeSums {
 public:
  // `elements` of the arena, of which those from `state` on are state; `row_widths` of the
  // embedding tables, empty: the model has none.
  struct Shape {
    std::size_t elements = 0;
    std::size_t state = 0;
    RowWidths row_widths{};
  };
  explicit NodeSums(const Shape& shape) : shape_(shape) {}

  // Writes the gradient of a leaf; false when asked to stop.
  using Leaf = std::function<Result<bool>(std::int64_t leaf, NodeSum sum)>;
  // The sum of a node: its leaves come in order. False when asked to stop.
  Result<bool> add_up(Leaves node, NodeSum sum, const Leaf& leaf);

  // While the node's last leaf is computed: its elements from `from` on are final, but for those of
  // state, which wait for the end. Afterwards those of the node's sum are, too, so that they can
  // leave. The same additions, only earlier.
  void settle(std::size_t from);

 private:
  // A node whose left child is summed, and whose right child holds the last leaf.
  struct Waiting {
    std::span<float> sum;  // so far of the left child
    std::span<const float> right;
  };

  struct Place {
    Leaves node;
    std::size_t depth = 0;  // below the node that is asked for
  };
  Result<bool> add_below(Place place, NodeSum sum, const Leaf& leaf);

  Shape shape_;
  std::deque<AlignedBuffer> scratch_;  // by depth in the tree; views of it stay valid
  std::int64_t end_ = 0;               // of the leaves of the node that is asked for
  std::vector<Waiting> waiting_;       // for the last leaf, from the node itself downwards
  std::size_t settled_ = 0;            // from here on their sums are whole, but for state
};

}  // namespace trainyard::runtime
