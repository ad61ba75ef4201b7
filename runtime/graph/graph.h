// A model as a static list of nodes: every shape is known when a node is added, every input comes
// before its user, so that the list itself is the order of execution. No values and no device here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/variable.h"
#include "runtime/graph/op.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

using NodeId = std::size_t;  // position in the list

// Whether a value has its shape once, or once for each example of a batch (which is then its first
// axis).
enum class Extent { fixed, per_example };

struct Node {
  Op op;
  std::vector<NodeId> inputs;
  Shape shape;  // of one example where the extent is per_example
  Extent extent = Extent::fixed;
  bool needs_gradient = false;  // a variable is upstream, or it is one
  // Values of one block are forgotten once the forward pass is beyond it, and computed again for
  // the backward pass: all but those that others read then.
  std::optional<std::size_t> recompute_block = {};
};

// Whether they are of one block.
bool are_recomputed_together(const Node& a, const Node& b);

class Graph {
 public:
  NodeId add_features(const Shape& example);
  NodeId add_sparse_features(std::int64_t columns);
  NodeId add_ids(std::int64_t time);  // of data that has one field of them
  NodeId add_ids(const Shape& example, const IdField& field);
  // Behind those before it in the arena; running averages come last, from a border of chunks'
  // blocks on.
  NodeId add_variable(std::string name, const Shape& shape,
                      UpdateRule update = UpdateRule::optimizer, double momentum = 0);
  NodeId add(const Op& op, std::vector<NodeId> inputs,
             std::optional<std::size_t> recompute_block = {});

  // The same model for shorter examples: its variables lie where those of `longest` do, each as
  // the first elements of its own, and what is dropped is drawn as there. False where the two have
  // not the same nodes.
  bool follow(const Graph& longest);

  [[nodiscard]] std::span<const Node> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const Variable> variables() const { return variables_; }
  [[nodiscard]] std::int64_t arena_elements() const { return arena_elements_; }

 private:
  bool lie_as(const Graph& longest);
  void draw_as(NodeId id, const Graph& longest);

  std::vector<Node> nodes_;
  std::vector<Variable> variables_;
  std::int64_t arena_elements_ = 0;
};

// The shape of a node's value in a batch of so many examples.
Shape shape_in_batch(const Node& node, std::int64_t examples);

}  // namespace trainyard::runtime
