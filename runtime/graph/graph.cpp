#include "runtime/graph/graph.h"

#include <algorithm>
#include <utility>

#include "runtime/core/arena_chunks.h"
#include "runtime/math/aligned_buffer.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

bool are_recomputed_together(const Node& a, const Node& b) {
  return a.recompute_block && a.recompute_block == b.recompute_block;
}

NodeId Graph::add_features(const Shape& example) {
  nodes_.push_back(
      {.op = FeaturesOp{}, .inputs = {}, .shape = example, .extent = Extent::per_example});
  return nodes_.size() - 1;
}

NodeId Graph::add_sparse_features(std::int64_t columns) {
  nodes_.push_back(
      {.op = SparseFeaturesOp{}, .inputs = {}, .shape = {columns}, .extent = Extent::per_example});
  return nodes_.size() - 1;
}

NodeId Graph::add_ids(std::int64_t time) {
  nodes_.push_back({.op = IdsOp{}, .inputs = {}, .shape = {time}, .extent = Extent::per_example});
  return nodes_.size() - 1;
}

NodeId Graph::add_variable(std::string name, const Shape& shape, UpdateRule update,
                           double momentum) {
  const auto sizes = shape.sizes();
  const auto is_state = [](UpdateRule rule) { return rule == UpdateRule::running_average; };
  const bool follows_state = !variables_.empty() && is_state(variables_.back().update);
  ENSURE(!follows_state || is_state(update));
  if (is_state(update) && !follows_state) {
    arena_elements_ = (arena_elements_ + chunk_block - 1) / chunk_block * chunk_block;
  }
  variables_.push_back({.name = std::move(name),
                        .shape = {sizes.begin(), sizes.end()},
                        .offset = arena_elements_,
                        .elements = shape.elements(),
                        .update = update,
                        .momentum = momentum});
  arena_elements_ += round_up_to_alignment(shape.elements());
  nodes_.push_back({.op = VariableOp{variables_.size() - 1},
                    .inputs = {},
                    .shape = shape,
                    .extent = Extent::fixed,
                    .needs_gradient = update != UpdateRule::none});
  return nodes_.size() - 1;
}

NodeId Graph::add(const Op& op, std::vector<NodeId> inputs,
                  std::optional<std::size_t> recompute_block) {
  std::vector<Shape> shapes;
  Node node{.op = op, .inputs = std::move(inputs), .shape = {}, .recompute_block = recompute_block};
  for (const NodeId input : node.inputs) {
    ENSURE(input < nodes_.size());
    shapes.push_back(nodes_[input].shape);
    if (nodes_[input].extent == Extent::per_example) node.extent = Extent::per_example;
    if (nodes_[input].needs_gradient) node.needs_gradient = traits(op).has_gradient;
  }
  // Its rows are learned, though they are no variables of the arena.
  if (std::holds_alternative<RowPoolOp>(op)) node.needs_gradient = true;
  node.shape = output_shape(op, shapes);
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

Shape shape_in_batch(const Node& node, std::int64_t examples) {
  if (node.extent == Extent::fixed) return node.shape;
  Shape shape{examples};
  for (const std::int64_t size : node.shape.sizes()) shape.append(size);
  return shape;
}

}  // namespace trainyard::runtime
