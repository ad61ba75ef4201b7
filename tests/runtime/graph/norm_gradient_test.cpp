#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

namespace {

constexpr std::array<NormInputs, 4> all_inputs{{{.scale = true, .offset = true},
                                                {.scale = true, .offset = false},
                                                {.scale = false, .offset = true},
                                                {.scale = false, .offset = false}}};

std::vector<NodeId> with_scaling(Graph& graph, NodeId x, const NormInputs& has) {
  const Shape channels{graph.nodes()[x].shape.columns()};
  std::vector<NodeId> inputs{x};
  if (has.scale) inputs.push_back(graph.add_variable("scale", channels));
  if (has.offset) inputs.push_back(graph.add_variable("offset", channels));
  return inputs;
}

// x, normalised, and what is made of it; an op that works in place may not overwrite what another
// reads. State comes last in the arena: `last` adds it.
template <class Last>
void require_right(const Op& op, const NormInputs& has, std::int64_t examples, Last last) {
  for (const bool is_read_twice : {false, true}) {
    SmallGraph small;
    Graph& graph = small.graph;
    const NodeId x = graph.add(ReshapeOp{{2, 4}}, {dense(graph, graph.add_features({5}), 8)});
    std::vector<NodeId> inputs = with_scaling(graph, x, has);
    const NodeId kernel = graph.add_variable("head/kernel", {8, 3});
    last(graph, inputs);
    NodeId y = graph.add(op, std::move(inputs));
    if (is_read_twice)
      y = graph.add(AddOp{}, {y, graph.add(ActivationOp{Nonlinearity::tanh}, {x})});
    const NodeId bent = graph.add(ActivationOp{Nonlinearity::sigmoid}, {y});
    const NodeId flat = graph.add(ReshapeOp{{8}}, {bent});
    small.loss = graph.add(SoftmaxCrossEntropyOp{}, {graph.add(MatMulOp{}, {flat, kernel})});
    require_gradients_right(std::move(small), examples);
  }
}

void no_state(Graph&, std::vector<NodeId>&) {}

void add_averages(Graph& graph, std::vector<NodeId>& inputs) {
  inputs.push_back(graph.add_variable("mean", {4}, UpdateRule::running_average, 0.1));
  inputs.push_back(graph.add_variable("variance", {4}, UpdateRule::running_average, 0.1));
}

}  // namespace

TEST_CASE("gradients through batch norm agree with finite differences", "[gradient]") {
  for (const NormInputs& has : all_inputs) {
    require_right(BatchNormOp{.has = has}, has, 8, add_averages);
    require_right(BatchNormOp{.epsilon = 0.1, .has = has}, has, 3, add_averages);
  }
}

TEST_CASE("gradients through layer norm and RMS norm agree with finite differences", "[gradient]") {
  for (const NormInputs& has : all_inputs) {
    require_right(LayerNormOp{.epsilon = 0.01, .has = has}, has, 3, no_state);
    if (!has.offset) require_right(RmsNormOp{.epsilon = 0.01, .has = has}, has, 3, no_state);
  }
}

TEST_CASE("gradients through group norm agree with finite differences", "[gradient]") {
  for (const NormInputs& has : all_inputs) {
    for (const std::int64_t groups : {1, 2}) {
      require_right(GroupNormOp{.groups = groups, .epsilon = 0.01, .has = has}, has, 3, no_state);
    }
  }
}

TEST_CASE("gradients through dropout agree with finite differences", "[gradient]") {
  for (const bool is_read_twice : {false, true}) {
    SmallGraph small;
    Graph& graph = small.graph;
    const NodeId x = dense(graph, graph.add_features({5}), 7);
    NodeId y = graph.add(DropoutOp{.rate = 0.4, .layer = 3}, {x});
    if (is_read_twice) {
      y = graph.add(AddOp{}, {y, graph.add(DropoutOp{.rate = 0.4, .layer = 4}, {x})});
    }
    small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, y, 3)});
    require_gradients_right(std::move(small), 4);
  }
}

}  // namespace trainyard::runtime
