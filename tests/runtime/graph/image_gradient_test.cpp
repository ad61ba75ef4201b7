#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

namespace {

// Flattened, and classified by a dense layer.
SmallGraph classified(Graph graph, NodeId x) {
  const NodeId flat = graph.add(ReshapeOp{{graph.nodes()[x].shape.elements()}}, {x});
  SmallGraph small;
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, flat, 3)});
  small.graph = std::move(graph);
  return small;
}

// Each channel times a number of its own: what comes after it has a gradient to give, and moves no
// value past another.
NodeId scaled_channels(Graph& graph, NodeId x) {
  const std::int64_t channels = graph.nodes()[x].shape.columns();
  const NodeId kernel = graph.add_variable("scales", {1, 1, channels, 1});
  const Window window = window_over(graph, x, {.kernel = 1});
  return graph.add(DepthwiseConv2dOp{window}, {x, kernel});
}

}  // namespace

TEST_CASE("gradients of convolutions agree with finite differences", "[gradient]") {
  for (const std::int64_t examples : {1, 3}) {
    Graph graph;
    NodeId x = graph.add_features({5, 6, 2});
    x = conv(graph, x, 3, {.kernel = 3, .before = 1, .after = 1});
    x = graph.add(ActivationOp{Nonlinearity::tanh}, {x});
    // The odd pixel of padding at the end; taps two apart.
    x = conv(graph, x, 2, {.kernel = 2, .stride = 2, .after = 1, .dilation = 2}, Bias::none);
    require_gradients_right(classified(std::move(graph), x), examples);
  }
}

TEST_CASE("gradients of a kernel and of an image that are used twice agree with differences",
          "[gradient]") {
  Graph graph;
  const NodeId start = conv(graph, graph.add_features({4, 4, 2}), 2, {.kernel = 1});
  const NodeId kernel = graph.add_variable("shared/kernel", {3, 3, 2, 2});
  const NodeId bias = graph.add_variable("shared/bias", {2});
  const Window window = window_over(graph, start, {.kernel = 3, .before = 1, .after = 1});
  const NodeId once = graph.add(Conv2dOp{window}, {start, kernel, bias});
  const NodeId bent = graph.add(ActivationOp{Nonlinearity::tanh}, {once});
  const NodeId twice = graph.add(Conv2dOp{window}, {bent, kernel, bias});
  const NodeId sum = graph.add(AddOp{}, {twice, start});
  require_gradients_right(classified(std::move(graph), sum), 2);
}

TEST_CASE("gradients of a sequence's convolution agree with finite differences", "[gradient]") {
  Graph graph;
  const NodeId x = dense(graph, graph.add_features({6, 3}), 2);
  const NodeId line = graph.add(ReshapeOp{{1, 6, 2}}, {x});
  const NodeId kernel = graph.add_variable("kernel", {3, 2, 4});
  const WindowAxis along{.pixels = 6, .kernel = 3, .stride = 2, .before = 2};
  const NodeId y = graph.add(Conv2dOp{{.height = {}, .width = along}}, {line, kernel});
  REQUIRE(graph.nodes()[y].shape == Shape({1, 3, 4}));
  require_gradients_right(classified(std::move(graph), y), 3);
}

TEST_CASE("gradients of depthwise convolutions agree with finite differences", "[gradient]") {
  Graph graph;
  NodeId x = conv(graph, graph.add_features({4, 5, 2}), 3, {.kernel = 1});
  const NodeId kernel = graph.add_variable("depthwise/kernel", {3, 3, 3, 2});
  const NodeId bias = graph.add_variable("depthwise/bias", {6});
  const Window window = window_over(graph, x, {.kernel = 3, .stride = 2, .before = 1, .after = 1});
  x = graph.add(DepthwiseConv2dOp{window}, {x, kernel, bias});
  REQUIRE(graph.nodes()[x].shape == Shape({2, 3, 6}));
  require_gradients_right(classified(std::move(graph), x), 3);
}

TEST_CASE("gradients through pools agree with finite differences", "[gradient]") {
  const Sides overlapping{.kernel = 3, .stride = 2, .before = 1, .after = 1};
  for (const bool is_max : {true, false}) {
    for (const bool is_read_twice : {false, true}) {
      Graph graph;
      const NodeId x = scaled_channels(graph, graph.add_features({5, 6, 3}));
      const Window window = window_over(graph, x, overlapping);
      const auto pool = [&] {
        return is_max ? graph.add(MaxPool2dOp{window}, {x}) : graph.add(AvgPool2dOp{window}, {x});
      };
      NodeId pooled = pool();
      if (is_read_twice) pooled = graph.add(AddOp{}, {pooled, pool()});
      require_gradients_right(classified(std::move(graph), pooled), 3);
    }
  }
}

TEST_CASE("gradients through the mean of an image agree with finite differences", "[gradient]") {
  Graph graph;
  const NodeId x = scaled_channels(graph, graph.add_features({3, 4, 5}));
  const NodeId mean = graph.add(GlobalAvgPoolOp{}, {x});
  REQUIRE(graph.nodes()[mean].shape == Shape({5}));
  require_gradients_right(classified(std::move(graph), mean), 4);
}

TEST_CASE("evaluation keeps no winners, and pools as training does", "[graph]") {
  Graph graph;
  const NodeId x = scaled_channels(graph, graph.add_features({4, 4, 2}));
  const NodeId pooled =
      graph.add(MaxPool2dOp{window_over(graph, x, {.kernel = 2, .stride = 2})}, {x});
  SmallGraph small = classified(std::move(graph), pooled);
  const NodeId loss = small.loss;
  Executor executor(std::move(small.graph), {.examples = 3, .loss = loss, .outputs = {loss}});
  const auto parameters =
      random_values(static_cast<std::size_t>(executor.graph().arena_elements()), 3);
  const OwnedFeed owned = random_feed(3, 32);
  executor.forward(parameters, owned.feed(3), Pass::train);
  const auto trained = executor.value(loss).span();
  const std::vector<float> losses(trained.begin(), trained.end());
  executor.forward(parameters, owned.feed(3), Pass::evaluate);
  REQUIRE(std::ranges::equal(executor.value(loss).span(), losses));
}

}  // namespace trainyard::runtime
