// What is no parameter that learns by its gradient: running averages, frozen variables; and what
// training does otherwise than evaluation.
#include <numeric>

#include "runtime/math/ops/dropout.h"
#include "tests/runtime/graph/gradient_check.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

namespace {

// features [3] -> batch norm -> dense -> cross entropy: nothing before the norm has a gradient.
struct NormedFeatures {
  Graph graph;
  NodeId normed = 0;
  NodeId loss = 0;
};

NormedFeatures normed_features() {
  NormedFeatures made;
  Graph& graph = made.graph;
  const NodeId x = graph.add_features({3});
  const NodeId kernel = graph.add_variable("kernel", {3, 3});
  const NodeId mean = graph.add_variable("mean", {3}, UpdateRule::running_average, 0.1);
  const NodeId variance = graph.add_variable("variance", {3}, UpdateRule::running_average, 0.1);
  made.normed =
      graph.add(BatchNormOp{.has = {.scale = false, .offset = false}}, {x, mean, variance});
  made.loss = graph.add(SoftmaxCrossEntropyOp{}, {graph.add(MatMulOp{}, {made.normed, kernel})});
  return made;
}

Executor executor_of(Graph graph, std::int64_t examples, NodeId loss,
                     std::vector<NodeId> outputs = {}) {
  outputs.push_back(loss);
  return Executor(std::move(graph), {.examples = examples, .loss = loss, .outputs = outputs});
}

std::vector<float> random_parameters(const Executor& executor) {
  return random_values(static_cast<std::size_t>(executor.graph().arena_elements()), 3);
}

std::span<float> range_of(const Variable& variable, std::span<float> arena) {
  return arena.subspan(static_cast<std::size_t>(variable.offset),
                       static_cast<std::size_t>(variable.elements));
}

std::vector<float> copy_of(ConstTensor tensor) {
  return {tensor.span().begin(), tensor.span().end()};
}

// Of columns of features [examples, 3], in double.
double mean_of(const OwnedFeed& owned, std::size_t column) {
  double sum = 0;
  for (std::size_t i = column; i < owned.features.size(); i += 3) {
    sum += static_cast<double>(owned.features[i]);
  }
  return sum / static_cast<double>(owned.features.size() / 3);
}

double squares_of(const OwnedFeed& owned, std::size_t column) {
  const double mean = mean_of(owned, column);
  double sum = 0;
  for (std::size_t i = column; i < owned.features.size(); i += 3) {
    const double distance = static_cast<double>(owned.features[i]) - mean;
    sum += distance * distance;
  }
  return sum;
}

}  // namespace

TEST_CASE("where a gradient of the averages would stand there are the leaf's own sums", "[state]") {
  NormedFeatures made = normed_features();
  Executor executor = executor_of(std::move(made.graph), 8, made.loss);
  const std::vector<float> parameters = random_parameters(executor);
  std::vector<float> gradients(parameters.size(), 99.0F);
  for (const std::int64_t examples : {8, 5, 1}) {
    const OwnedFeed owned = random_feed(examples, 3);
    executor.forward(parameters, owned.feed(examples), Pass::train);
    executor.backward(parameters, owned.feed(examples), gradients, {});

    const auto mean = range_of(executor.graph().variables()[1], gradients);
    const auto variance = range_of(executor.graph().variables()[2], gradients);
    const auto count = static_cast<double>(examples);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(static_cast<double>(mean[i]) == Approx(count * mean_of(owned, i)).margin(1e-5));
      // Of one value alone the variance is 0.
      const double unbiased = examples == 1 ? 0.0 : squares_of(owned, i) / (count - 1);
      CHECK(static_cast<double>(variance[i]) == Approx(count * unbiased).epsilon(1e-5));
    }
  }
}

TEST_CASE("evaluation normalises by the averages, training by the batch", "[state]") {
  NormedFeatures made = normed_features();
  const NodeId normed = made.normed;
  Executor executor = executor_of(std::move(made.graph), 6, made.loss, {normed});
  std::vector<float> parameters = random_parameters(executor);
  std::ranges::fill(range_of(executor.graph().variables()[1], parameters), 0.5F);
  std::ranges::fill(range_of(executor.graph().variables()[2], parameters), 4.0F);
  const OwnedFeed owned = random_feed(6, 3);

  executor.forward(parameters, owned.feed(6), Pass::evaluate);
  for (std::size_t i = 0; i < owned.features.size(); ++i) {
    const double expected = (static_cast<double>(owned.features[i]) - 0.5) / std::sqrt(4.0 + 1e-5);
    CHECK(static_cast<double>(executor.value(normed).data[i]) == Approx(expected).margin(1e-6));
  }
  executor.forward(parameters, owned.feed(6), Pass::train);
  for (std::size_t column = 0; column < 3; ++column) {
    const OwnedFeed trained{
        .features = copy_of(executor.value(normed)), .labels = {}, .targets = {}};
    CHECK(mean_of(trained, column) == Approx(0).margin(1e-6));
    CHECK(squares_of(trained, column) == Approx(6).epsilon(1e-4));
  }
}

TEST_CASE("gradients fill what lies between parameters and state with zeros", "[state]") {
  NormedFeatures made = normed_features();
  Executor executor = executor_of(std::move(made.graph), 4, made.loss);
  const std::vector<float> parameters = random_parameters(executor);
  std::vector<float> gradients(parameters.size(), 99.0F);
  const OwnedFeed owned = random_feed(4, 3);
  executor.forward(parameters, owned.feed(4), Pass::train);
  std::vector<std::size_t> finals;
  executor.backward(parameters, owned.feed(4), gradients,
                    [&](std::size_t variable) { finals.push_back(variable); });

  REQUIRE(finals == std::vector<std::size_t>{0, 1, 2});
  const auto variables = executor.graph().variables();
  REQUIRE(variables[1].offset == 1024);
  std::vector<bool> is_variable(gradients.size());
  for (const Variable& variable : variables) {
    std::fill_n(is_variable.begin() + variable.offset, variable.elements, true);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    REQUIRE(gradients[i] != 99.0F);
    if (!is_variable[i]) REQUIRE(gradients[i] == 0.0F);
  }
}

TEST_CASE("a batch's dropout is that of its examples' positions, none in evaluation", "[state]") {
  SmallGraph small;
  const NodeId x = dense(small.graph, small.graph.add_features({5}), 7);
  const NodeId y = small.graph.add(DropoutOp{.rate = 0.5, .layer = 9}, {x});
  small.loss = small.graph.add(SoftmaxCrossEntropyOp{}, {dense(small.graph, y, 3)});
  Executor executor = executor_of(std::move(small.graph), 6, small.loss, {x, y});
  const std::vector<float> parameters = random_parameters(executor);
  const OwnedFeed owned = random_feed(6, 5);
  Feed feed = owned.feed(6);
  executor.forward(parameters, feed, Pass::train);
  const std::vector<float> whole = copy_of(executor.value(y));
  std::vector<float> dropped(whole.size());
  drop_out({.seed = feed.seed, .layer = 9, .rate = 0.5, .first_position = feed.first_position},
           executor.value(x), {dropped.data(), {6, 7}});
  REQUIRE(dropped == whole);
  REQUIRE(std::ranges::count(whole, 0.0F) > 5);

  executor.forward(parameters, feed, Pass::evaluate);
  REQUIRE(copy_of(executor.value(y)) == copy_of(executor.value(x)));

  // The last four of the six as a batch of their own.
  feed.examples = 4;
  feed.first_position += 2;
  feed.features = feed.features.subspan(std::size_t{2} * 5);
  feed.labels = feed.labels.subspan(2);
  executor.forward(parameters, feed, Pass::train);
  REQUIRE(
      std::ranges::equal(executor.value(y).span(), std::span(whole).subspan(std::size_t{2} * 7)));
}

}  // namespace trainyard::runtime
