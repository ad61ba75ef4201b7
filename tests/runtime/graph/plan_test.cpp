#include "runtime/graph/plan.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "runtime/core/counter_rng.h"
#include "tests/runtime/graph/graph_builders.h"
#include "tests/runtime/graph/plan_soundness.h"

namespace trainyard::runtime {

namespace {

// A chain of layers in which some read a value from further up.
SmallGraph random_graph(std::uint64_t seed) {
  const CounterRng rng(seed, RngStream::synthetic);
  SmallGraph small;
  std::vector<NodeId> values{small.graph.add_features({4})};
  for (std::uint64_t i = 0; i < 12; ++i) {
    const auto words = rng.block(i);
    const NodeId from = words[0] % 3 == 0 ? values[words[1] % values.size()] : values.back();
    if (words[2] % 2 == 0) {
      values.push_back(dense(small.graph, from, 4));
    } else {
      values.push_back(small.graph.add(ActivationOp{Nonlinearity::tanh}, {from}));
    }
  }
  small.loss = small.graph.add(SoftmaxCrossEntropyOp{}, {dense(small.graph, values.back(), 4)});
  return small;
}

}  // namespace

TEST_CASE("values that live at the same time never share a place", "[plan]") {
  int graphs = 0;
  for (std::uint64_t seed = 0; graphs < 50; ++seed) {
    const SmallGraph small = random_graph(seed);
    if (!every_node_is_used(small)) continue;
    ++graphs;
    INFO("seed " << seed);
    require_sound(
        small.graph,
        make_plan(small.graph, {.examples = 9, .loss = small.loss, .outputs = {small.loss}},
                  cpu_kernels));
  }
}

TEST_CASE("a deep network's arena is much smaller than the sum of its values", "[plan]") {
  SmallGraph small;
  NodeId x = small.graph.add_features({64});
  for (int layer = 0; layer < 20; ++layer) {
    x = small.graph.add(ActivationOp{Nonlinearity::relu}, {dense(small.graph, x, 64)});
  }
  small.loss = small.graph.add(SoftmaxCrossEntropyOp{}, {x});

  const Plan plan =
      make_plan(small.graph, {.examples = 32, .loss = small.loss, .outputs = {}}, cpu_kernels);

  // Each layer's output is kept for the backward pass, once; gradients need two places at a time.
  constexpr std::int64_t layer_elements = 32 * 64;
  REQUIRE(plan.arena_elements >= 20 * layer_elements);
  REQUIRE(plan.arena_elements <= 23 * layer_elements);
}

TEST_CASE("a sum lies where its first part lies, as the gradient of that does", "[plan]") {
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId x =
      graph.add(ActivationOp{Nonlinearity::tanh}, {dense(graph, graph.add_features({64}), 64)});
  const NodeId part = dense(graph, x, 64);  // which nobody needs any more once it is added
  const NodeId sum = graph.add(AddOp{}, {part, x});
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {sum});
  const Plan plan =
      make_plan(graph, {.examples = 32, .loss = small.loss, .outputs = {}}, cpu_kernels);

  REQUIRE(plan.values[sum].offset == plan.values[part].offset);
  REQUIRE(plan.gradients[sum].offset == plan.gradients[part].offset);
  REQUIRE(plan.gradients[sum].offset != plan.gradients[x].offset);
}

TEST_CASE("gradients of a value with several users are added up, the first overwrites", "[plan]") {
  const SmallGraph small = shared_weights_graph(Nonlinearity::tanh);
  const Plan plan =
      make_plan(small.graph, {.examples = 2, .loss = small.loss, .outputs = {}}, cpu_kernels);

  std::vector<int> writes(small.graph.nodes().size());
  for (const BackwardStep& step : plan.backward) {
    const auto& inputs = small.graph.nodes()[step.node].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!step.inputs[i]) continue;
      REQUIRE(*step.inputs[i] == (writes[inputs[i]] == 0 ? Write::overwrite : Write::add));
      ++writes[inputs[i]];
    }
  }
}

TEST_CASE("every variable is final exactly once, the last layer's first", "[plan]") {
  const SmallGraph small = shared_weights_graph(Nonlinearity::relu);
  const Plan plan =
      make_plan(small.graph, {.examples = 2, .loss = small.loss, .outputs = {}}, cpu_kernels);

  std::vector<std::size_t> order;
  for (const BackwardStep& step : plan.backward) {
    for (const std::size_t variable : step.final_variables) order.push_back(variable);
  }
  // v4 (last layer), then the shared step (2, 3), then v0.
  REQUIRE(order == std::vector<std::size_t>{4, 5, 2, 3, 0, 1});
}

}  // namespace trainyard::runtime
