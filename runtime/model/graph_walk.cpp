#include "runtime/model/graph_walk.h"

#include <algorithm>
#include <utility>

#include "runtime/model/layer_arguments.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape shape_of(const model::Sizes& sizes) { return Shape(std::span<const std::int64_t>(sizes)); }

InitialValue initial_value(const model::Start& start) {
  using enum InitialValue::Kind;
  switch (start.kind) {
    case model::StartKind::constant: return {constant, start.scale};
    case model::StartKind::normal: return {normal, start.scale};
    case model::StartKind::uniform: return {uniform, start.scale};
    case model::StartKind::truncated_normal:
    case model::StartKind::orthogonal:
    case model::StartKind::forget_gate: break;
  }
  ENSURE(false);
  return {};
}

}  // namespace

BuiltModel GraphWalk::run() {
  add_variables();
  for (const Layer& layer : analysis_.layers) nodes_.push_back(node_of(layer));
  add_loss();
  add_metrics();
  return std::move(built_);
}

// In the order of the arena, which is not that of the layers where there is state.
void GraphWalk::add_variables() {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < analysis_.variables.size(); ++i) {
    if (analysis_.variables[i].role != model::VariableRole::row_table) order.push_back(i);
  }
  std::ranges::sort(order, {}, [this](std::size_t i) {
    ENSURE(analysis_.variables[i].offset.has_value());
    return *analysis_.variables[i].offset;
  });
  for (const std::size_t i : order) {
    const model::Variable& variable = analysis_.variables[i];
    variables_[i] = built_.builder.add_variable(variable.name, shape_of(variable.shape),
                                                initial_value(variable.start));
    ENSURE(built_.builder.graph.variables().back().offset == *variable.offset);
  }
}

NodeId GraphWalk::node_of(const Layer& layer) {
  if (layer.op == "input") return input(layer);
  if (layer.op == "dense") return dense(layer);
  if (layer.op == "flatten" || layer.op == "reshape") return reshaped(layer);
  if (layer.op == "add") return sum(layer);
  if (layer.op == "embedding_bag") return pooled_rows(layer);
  return activated(nodes_[layer.in[0]], layer.op);
}

NodeId GraphWalk::input(const Layer& layer) {
  Graph& graph = built_.builder.graph;
  if (layer.kind == model::ElementKind::sparse) return graph.add_sparse_features((*layer.shape)[0]);
  return graph.add_features(shape_of(*layer.shape));
}

NodeId GraphWalk::dense(const Layer& layer) {
  const NodeId x = nodes_[layer.in[0]];
  std::vector<NodeId> inputs{x};
  for (const std::size_t variable : layer.variables) inputs.push_back(variables_.at(variable));
  const bool is_sparse = std::holds_alternative<SparseFeaturesOp>(node(x).op);
  const NodeId product = add(is_sparse ? Op(SparseMatMulOp{}) : Op(MatMulOp{}), std::move(inputs));
  return activated(product, text_argument(layer, "activation"));
}

NodeId GraphWalk::activated(NodeId x, const std::string& name) {
  if (name == "none") return x;
  if (name == "relu") return add(ActivationOp{Nonlinearity::relu}, {x});
  if (name == "tanh") return add(ActivationOp{Nonlinearity::tanh}, {x});
  ENSURE(name == "sigmoid");
  return add(ActivationOp{Nonlinearity::sigmoid}, {x});
}

// Features are the batch's own memory, which has any shape of as many numbers.
NodeId GraphWalk::reshaped(const Layer& layer) {
  const NodeId x = nodes_[layer.in[0]];
  const Shape shape = shape_of(*layer.shape);
  if (node(x).shape == shape) return x;
  if (std::holds_alternative<FeaturesOp>(node(x).op)) {
    return built_.builder.graph.add_features(shape);
  }
  return add(ReshapeOp{shape}, {x});
}

// From the left, as the order of a sum is its bits.
NodeId GraphWalk::sum(const Layer& layer) {
  NodeId sum = nodes_[layer.in[0]];
  for (std::size_t i = 1; i < layer.in.size(); ++i) {
    sum = add(AddOp{}, {sum, nodes_[layer.in[i]]});
  }
  return sum;
}

NodeId GraphWalk::pooled_rows(const Layer& layer) {
  const model::Variable& table = analysis_.variables[layer.variables.front()];
  ENSURE(table.role == model::VariableRole::row_table);
  const bool is_zero = table.start.kind == model::StartKind::constant;
  RowLayout& rows = built_.builder.rows;
  const std::int64_t columns = table.shape.back();
  const RowPoolOp op{
      .first = rows.width(),
      .columns = columns,
      .pooling = text_argument(layer, "kind") == "mean" ? Pooling::mean : Pooling::sum};
  rows.variables.push_back(
      {.name = table.name, .columns = columns, .bound = is_zero ? 0 : table.start.scale});
  return add(op, {nodes_[layer.in[0]]});
}

void GraphWalk::add_loss() {
  ENSURE(analysis_.losses.size() == 1);
  const Term& loss = analysis_.losses.front();
  const NodeId scores = nodes_[loss.in.front()];
  if (loss.op == "softmax_cross_entropy") {
    built_.loss = add(SoftmaxCrossEntropyOp{}, {scores});
  } else if (loss.op == "sigmoid_cross_entropy") {
    built_.loss = add(SigmoidCrossEntropyOp{}, {scores});
  } else {
    ENSURE(loss.op == "squared_error");
    built_.loss = add(SquaredErrorOp{}, {scores});
  }
}

void GraphWalk::add_metrics() {
  for (const Term& metric : analysis_.metrics) {
    const bool is_binary = analysis_.losses.front().op == "sigmoid_cross_entropy";
    built_.matches = add(is_binary ? Op(MatchBinaryLabelsOp{}) : Op(MatchLabelsOp{}),
                         {nodes_[metric.in.front()]});
  }
}

}  // namespace trainyard::runtime
