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
  return add_ids(Shape{time}, {.before = 0, .columns = time});
}

NodeId Graph::add_ids(const Shape& example, const IdField& field) {
  ENSURE(field.columns == 0 || example.elements() == field.columns);
  nodes_.push_back(
      {.op = IdsOp{field}, .inputs = {}, .shape = example, .extent = Extent::per_example});
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
  if (std::holds_alternative<RowPoolOp>(op) || std::holds_alternative<RowLookupOp>(op)) {
    node.needs_gradient = true;
  }
  node.shape = output_shape(op, shapes);
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

bool Graph::follow(const Graph& longest) {
  const auto is_same = [](const Node& a, const Node& b) {
    return a.op.index() == b.op.index() && a.inputs == b.inputs && a.extent == b.extent;
  };
  if (!std::ranges::equal(nodes_, longest.nodes_, is_same) || !lie_as(longest)) return false;
  for (NodeId id = 0; id < nodes_.size(); ++id) draw_as(id, longest);
  return true;
}

// Only the outermost size may be smaller: then the elements of one are the first of the other.
bool Graph::lie_as(const Graph& longest) {
  const auto is_first_of = [](const Variable& part, const Variable& whole) {
    if (part.name != whole.name || part.shape.size() != whole.shape.size()) return false;
    if (part.shape.empty()) return true;
    return part.shape.front() <= whole.shape.front() &&
           std::equal(part.shape.begin() + 1, part.shape.end(), whole.shape.begin() + 1);
  };
  if (!std::ranges::equal(variables_, longest.variables_, is_first_of)) return false;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    variables_[i].offset = longest.variables_[i].offset;
  }
  arena_elements_ = longest.arena_elements_;
  return true;
}

void Graph::draw_as(NodeId id, const Graph& longest) {
  const auto shape_of_input = [&](std::size_t i) {
    return longest.nodes_[longest.nodes_[id].inputs[i]].shape;
  };
  if (auto* const dropout = std::get_if<DropoutOp>(&nodes_[id].op)) {
    dropout->stride = static_cast<std::uint64_t>(longest.nodes_[id].shape.elements());
  } else if (auto* const attention = std::get_if<SdpaOp>(&nodes_[id].op)) {
    attention->line_queries = shape_of_input(0)[0];
    attention->line_keys = shape_of_input(1)[0];
  }
}

Shape shape_in_batch(const Node& node, std::int64_t examples) {
  if (node.extent == Extent::fixed) return node.shape;
  Shape shape{examples};
  for (const std::int64_t size : node.shape.sizes()) shape.append(size);
  return shape;
}

}  // namespace trainyard::runtime
