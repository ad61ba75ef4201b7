#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

TEST_CASE("gradients of losses with arguments agree with finite differences", "[gradient]") {
  for (const double smoothing : {0.1, 0.7}) {
    SmallGraph soft;
    soft.loss = soft.graph.add(SoftmaxCrossEntropyOp{.label_smoothing = smoothing},
                               {dense(soft.graph, soft.graph.add_features({5}), 3)});
    require_gradients_right(std::move(soft), 4);
    SmallGraph sigmoid;
    sigmoid.loss = sigmoid.graph.add(SigmoidCrossEntropyOp{.label_smoothing = smoothing},
                                     {dense(sigmoid.graph, sigmoid.graph.add_features({5}), 1)});
    require_gradients_right(std::move(sigmoid), 4);
  }
  for (const double delta : {0.1, 5.0}) {  // beyond it, and below
    SmallGraph small;
    small.loss = small.graph.add(HuberOp{.delta = delta},
                                 {dense(small.graph, small.graph.add_features({5}), 1)});
    require_gradients_right(std::move(small), 4);
  }
}

TEST_CASE("gradients of a weighted sum of losses agree with finite differences", "[gradient]") {
  // The sum's gradient is where the backward pass starts: it goes to both.
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId hidden =
      graph.add(ActivationOp{Nonlinearity::tanh}, {dense(graph, graph.add_features({5}), 4)});
  const NodeId classes = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, hidden, 3)});
  const NodeId number = graph.add(SquaredErrorOp{}, {dense(graph, hidden, 1)});
  const NodeId other = graph.add(HuberOp{.delta = 2}, {dense(graph, hidden, 1)});
  const NodeId twice = graph.add(AffineOp{{.scale = 2, .shift = 0}}, {classes});
  small.loss = graph.add(AddOp{}, {graph.add(AddOp{}, {twice, number}), other});
  REQUIRE(shape_in_batch(graph.nodes()[small.loss], 4) == Shape({4}));
  require_gradients_right(std::move(small), 4);
}

TEST_CASE("gradients of a matrix that two layers share, once transposed, agree with differences",
          "[gradient]") {
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId x = dense(graph, graph.add_features({5}), 4);
  const NodeId table = graph.add_variable("table", {3, 4});
  const NodeId bias = graph.add_variable("bias", {3});
  const MatMulOp transposed{.has_transposed_kernel = true};
  const NodeId first = graph.add(transposed, {x, table, bias});
  const NodeId bent = graph.add(ActivationOp{Nonlinearity::tanh}, {first});
  const NodeId back = graph.add(MatMulOp{}, {bent, table});
  // x is read twice, too, so that its gradient from the transposed product is added.
  const NodeId sum = graph.add(AddOp{}, {back, x});
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {graph.add(transposed, {sum, table})});
  require_gradients_right(std::move(small), 4);
}

TEST_CASE("metrics are numbers of examples, and no gradient comes from them", "[graph]") {
  Graph graph;
  const NodeId x = graph.add_features({3});
  const NodeId logits = graph.add(MatMulOp{}, {x, graph.add_variable("one", {3, 3})});
  const NodeId loss = graph.add(SoftmaxCrossEntropyOp{}, {logits});
  const NodeId top = graph.add(TopKOp{.k = 2}, {logits});
  const NodeId number = graph.add(MatMulOp{}, {x, graph.add_variable("sum", {3, 1})});
  const NodeId squares = graph.add(SquaredErrorOp{}, {number});
  const NodeId errors = graph.add(AbsoluteErrorOp{}, {number});
  const NodeId total = graph.add(AddOp{}, {loss, squares});
  REQUIRE_FALSE(graph.nodes()[top].needs_gradient);
  REQUIRE_FALSE(graph.nodes()[errors].needs_gradient);
  Executor executor(std::move(graph),
                    {.examples = 2, .loss = total, .outputs = {total, top, errors}});
  std::vector<float> parameters(static_cast<std::size_t>(executor.graph().arena_elements()));
  for (const std::size_t i : {0U, 4U, 8U}) parameters[i] = 1;     // "one"
  for (const std::size_t i : {16U, 17U, 18U}) parameters[i] = 1;  // "sum"
  const std::vector<float> features{1, 3, 2, 5, 1, 4};
  const std::vector<std::int32_t> labels{2, 1};
  const std::vector<float> targets{5, 12};
  executor.forward(parameters,
                   {.examples = 2, .features = features, .labels = labels, .targets = targets},
                   Pass::evaluate);
  REQUIRE(std::ranges::equal(executor.value(top).span(), std::vector<float>{1, 0}));
  REQUIRE(std::ranges::equal(executor.value(errors).span(), std::vector<float>{1, 2}));
}

TEST_CASE("gradients of two towers in a batch agree with finite differences", "[gradient]") {
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId x = graph.add_features({5});
  const NodeId users = graph.add(L2NormalizeOp{}, {dense(graph, x, 3)});
  const NodeId items = dense(graph, x, 3);
  small.loss = graph.add(InBatchSoftmaxOp{0.7}, {users, items});
  require_gradients_right(std::move(small), 5);
}

}  // namespace trainyard::runtime
