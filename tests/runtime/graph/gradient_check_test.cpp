#include "tests/runtime/graph/gradient_check.h"

#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

TEST_CASE("gradients through shared weights agree with finite differences", "[gradient]") {
  // relu has kinks that a finite step crosses: it is checked by PyTorch's numbers (activation_test,
  // golden_test).
  for (const Nonlinearity kind : {Nonlinearity::sigmoid, Nonlinearity::tanh}) {
    require_gradients_right(shared_weights_graph(kind), 8);
    require_gradients_right(shared_weights_graph(kind), 3);  // a batch smaller than planned
    require_gradients_right(shared_weights_graph(kind), 1);
  }
}

TEST_CASE("gradients of a regression agree with finite differences", "[gradient]") {
  SmallGraph small;
  const NodeId x = small.graph.add_features({6});
  const NodeId hidden =
      small.graph.add(ActivationOp{Nonlinearity::tanh}, {dense(small.graph, x, 5)});
  small.loss = small.graph.add(SquaredErrorOp{}, {dense(small.graph, hidden, 1)});
  require_gradients_right(std::move(small), 4);
}

TEST_CASE("gradients through other shapes agree with finite differences", "[gradient]") {
  // Read once, so that it may lie where its input lies, and read twice.
  for (const bool is_read_twice : {false, true}) {
    SmallGraph small;
    Graph& graph = small.graph;
    const NodeId six = dense(graph, graph.add_features({5}), 6);
    const NodeId square = graph.add(ReshapeOp{{3, 2}}, {six});
    NodeId rows = dense(graph, square, 2);  // of each of three rows
    if (is_read_twice) rows = graph.add(AddOp{}, {rows, square});
    const NodeId flat =
        graph.add(ReshapeOp{{6}}, {graph.add(ActivationOp{Nonlinearity::tanh}, {rows})});
    small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, flat, 3)});
    require_gradients_right(std::move(small), 4);
  }
}

TEST_CASE("gradients of a logistic regression agree with finite differences", "[gradient]") {
  SmallGraph dense_one;
  dense_one.loss = dense_one.graph.add(
      SigmoidCrossEntropyOp{}, {dense(dense_one.graph, dense_one.graph.add_features({7}), 1)});
  require_gradients_right(std::move(dense_one), 6);

  for (const std::int64_t examples : {1, 8}) {
    SmallGraph sparse_one;
    const NodeId x = sparse_one.graph.add_sparse_features(7);
    sparse_one.loss =
        sparse_one.graph.add(SigmoidCrossEntropyOp{}, {sparse_dense(sparse_one.graph, x, 1)});
    require_gradients_right(std::move(sparse_one), examples);
  }
}

TEST_CASE("gradients of sparse features that two layers read agree with finite differences",
          "[gradient]") {
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId x = graph.add_sparse_features(8);
  const NodeId kernel = graph.add_variable("shared/kernel", {8, 4});
  const NodeId bias = graph.add_variable("shared/bias", {4});
  const NodeId first =
      graph.add(ActivationOp{Nonlinearity::tanh}, {graph.add(SparseMatMulOp{}, {x, kernel, bias})});
  const NodeId second = graph.add(MatMulOp{}, {first, graph.add_variable("square", {4, 4}), bias});
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, second, 3)});
  require_gradients_right(std::move(small), 5);
}

TEST_CASE("gradients of pooled embedding rows agree with finite differences", "[gradient]") {
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId x = graph.add_sparse_features(9);
  const NodeId wide = graph.add(RowPoolOp{0, 1, Pooling::sum}, {x});
  const NodeId deep = graph.add(RowPoolOp{1, 3, Pooling::mean}, {x});
  const NodeId hidden = graph.add(ActivationOp{Nonlinearity::tanh}, {dense(graph, deep, 4)});
  small.loss =
      graph.add(SigmoidCrossEntropyOp{}, {graph.add(AddOp{}, {wide, dense(graph, hidden, 1)})});
  const NodeId loss = small.loss;
  Executor executor(std::move(small.graph), {.examples = 6, .loss = loss, .outputs = {loss}});
  const auto parameters =
      random_values(static_cast<std::size_t>(executor.graph().arena_elements()), 3);
  const OwnedFeed owned = random_feed(6, 9, 2);
  std::vector<float> rows = random_values(9 * 4, 5);  // a row for each column
  std::vector<float> row_gradients(rows.size());
  Feed feed = owned.feed(6);
  const RowFeed table{
      .places = owned.sparse.columns, .rows = rows, .gradients = row_gradients, .width = 4};
  feed.rows = {&table, 1};
  std::vector<float> gradients(parameters.size());
  executor.forward(parameters, feed, Pass::train);
  executor.backward(parameters, feed, gradients, {});

  constexpr float step = 2e-2F;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float start = rows[i];
    rows[i] = start + step;
    const double above = loss_of(executor, loss, parameters, feed);
    rows[i] = start - step;
    const double below = loss_of(executor, loss, parameters, feed);
    rows[i] = start;
    INFO("row element " << i);
    const double expected = (above - below) / (2 * static_cast<double>(step));
    REQUIRE(static_cast<double>(row_gradients[i]) == Approx(expected).epsilon(0.01).margin(0.01));
  }
}

TEST_CASE("gradients of rows that are looked up in two tables agree with finite differences",
          "[gradient]") {
  // Two columns of a field's rows are read by one lookup and one by another; a field of one id has
  // a table of its own.
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId many = graph.add_ids({3}, {.before = 0, .columns = 3});
  const NodeId one = graph.add_ids({}, {.before = 3, .columns = 1});
  const NodeId wide = graph.add(RowLookupOp{.first = 0, .columns = 1}, {many});
  const NodeId deep = graph.add(RowLookupOp{.first = 1, .columns = 2}, {many});
  const NodeId user = graph.add(RowLookupOp{.columns = 2, .table = 1}, {one});
  const NodeId all = graph.add(
      ConcatOp{0}, {graph.add(ReshapeOp{{3}}, {wide}), graph.add(ReshapeOp{{6}}, {deep}), user});
  const NodeId hidden = graph.add(ActivationOp{Nonlinearity::tanh}, {dense(graph, all, 4)});
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, hidden, 3)});
  const NodeId loss = small.loss;
  Executor executor(std::move(small.graph), {.examples = 3, .loss = loss, .outputs = {loss}});
  const auto parameters =
      random_values(static_cast<std::size_t>(executor.graph().arena_elements()), 3);
  const std::vector<std::int32_t> ids{0, 2, 2, 1, 0, 3, 2, 1, 1, 0, 1, 0};
  const std::vector<std::int32_t> labels{0, 2, 1};
  std::vector<float> rows = random_values(4 * 3 + 2 * 2, 5);
  std::vector<float> row_gradients(rows.size());
  const std::span<const std::int32_t> places(ids);
  const std::span<const float> values(rows);
  const std::span<float> gradients_of(row_gradients);
  const std::array tables{RowFeed{.places = places.first(9),
                                  .rows = values.first(12),
                                  .gradients = gradients_of.first(12),
                                  .width = 3},
                          RowFeed{.places = places.last(3),
                                  .rows = values.last(4),
                                  .gradients = gradients_of.last(4),
                                  .width = 2}};
  const Feed feed{
      .examples = 3, .features = {}, .labels = labels, .targets = {}, .rows = tables, .ids = ids};
  std::vector<float> gradients(parameters.size());
  executor.forward(parameters, feed, Pass::train);
  executor.backward(parameters, feed, gradients, {});
  constexpr float step = 2e-2F;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float start = rows[i];
    rows[i] = start + step;
    const double above = loss_of(executor, loss, parameters, feed);
    rows[i] = start - step;
    const double below = loss_of(executor, loss, parameters, feed);
    rows[i] = start;
    INFO("row element " << i);
    const double expected = (above - below) / (2 * static_cast<double>(step));
    REQUIRE(static_cast<double>(row_gradients[i]) == Approx(expected).epsilon(0.01).margin(0.01));
  }
}

TEST_CASE("gradients of a value that a product and an activation both read agree with differences",
          "[gradient]") {
  // The activation may not overwrite what the product still needs, and both give gradients to it.
  SmallGraph small;
  Graph& graph = small.graph;
  const NodeId x = graph.add_features({4});
  const NodeId weights =
      graph.add(ActivationOp{Nonlinearity::tanh}, {graph.add_variable("w", {4, 4})});
  const NodeId bent = graph.add(ActivationOp{Nonlinearity::sigmoid}, {weights});
  const NodeId first = graph.add(MatMulOp{}, {x, weights});
  const NodeId second = graph.add(MatMulOp{}, {first, bent});
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, second, 3)});
  require_gradients_right(std::move(small), 5);
}

TEST_CASE("a variable whose gradient is final is read no more", "[gradient]") {
  // New parameters come to where the old ones lie, while the rest is computed.
  SmallGraph small = shared_weights_graph(Nonlinearity::tanh);
  const NodeId loss = small.loss;
  Executor executor(std::move(small.graph), {.examples = 4, .loss = loss, .outputs = {loss}});
  const auto elements = static_cast<std::size_t>(executor.graph().arena_elements());
  const OwnedFeed owned = random_feed(4, 5);
  std::vector<float> parameters = random_values(elements, 1);
  std::vector<float> undisturbed(elements);
  std::vector<float> gradients(elements);
  executor.forward(parameters, owned.feed(4), Pass::train);
  executor.backward(parameters, owned.feed(4), undisturbed, {});

  executor.forward(parameters, owned.feed(4), Pass::train);
  executor.backward(parameters, owned.feed(4), gradients, [&](std::size_t number) {
    const Variable& variable = executor.graph().variables()[number];
    std::fill_n(parameters.begin() + variable.offset, variable.elements, 1e6F);
  });
  CHECK(gradients == undisturbed);
}

TEST_CASE("where parameters stay, a gradient that is told of is final, and as it always is",
          "[gradient]") {
  SmallGraph small = shared_weights_graph(Nonlinearity::tanh);
  const NodeId loss = small.loss;
  Executor executor(std::move(small.graph), {.examples = 4, .loss = loss, .outputs = {loss}});
  const auto elements = static_cast<std::size_t>(executor.graph().arena_elements());
  const OwnedFeed owned = random_feed(4, 5);
  const std::vector<float> parameters = random_values(elements, 1);
  std::vector<float> later(elements);
  std::vector<float> gradients(elements, 99.0F);
  std::size_t told = 0;
  executor.forward(parameters, owned.feed(4), Pass::train);
  executor.backward(parameters, owned.feed(4), later, {});

  executor.forward(parameters, owned.feed(4), Pass::train);
  executor.backward(
      parameters, owned.feed(4), gradients,
      [&](std::size_t number) {
        const Variable& variable = executor.graph().variables()[number];
        const auto of = [&](const std::vector<float>& arena) {
          return std::span(arena).subspan(static_cast<std::size_t>(variable.offset),
                                          static_cast<std::size_t>(variable.elements));
        };
        CHECK(std::ranges::equal(of(gradients), of(later)));
        ++told;
      },
      Executor::Parameters::stay);
  CHECK(told == executor.graph().variables().size());
  CHECK(gradients == later);
}

TEST_CASE("gradients fill the whole arena, with zeros in the padding", "[gradient]") {
  SmallGraph small = shared_weights_graph(Nonlinearity::relu);
  const NodeId loss = small.loss;
  Executor executor(std::move(small.graph), {.examples = 4, .loss = loss, .outputs = {loss}});
  const auto elements = static_cast<std::size_t>(executor.graph().arena_elements());
  const std::vector<float> parameters = random_values(elements, 1);
  const OwnedFeed owned = random_feed(4, 5);
  std::vector<float> gradients(elements, 99.0F);
  std::vector<std::size_t> final_order;

  executor.forward(parameters, owned.feed(4), Pass::train);
  executor.backward(parameters, owned.feed(4), gradients,
                    [&](std::size_t variable) { final_order.push_back(variable); });

  REQUIRE(final_order == std::vector<std::size_t>{4, 5, 2, 3, 0, 1});
  std::vector<bool> is_padding(elements, true);
  for (const Variable& variable : executor.graph().variables()) {
    std::fill_n(is_padding.begin() + variable.offset, variable.elements, false);
  }
  for (std::size_t i = 0; i < elements; ++i) {
    REQUIRE(gradients[i] != 99.0F);
    if (is_padding[i]) REQUIRE(gradients[i] == 0.0F);
  }
}

}  // namespace trainyard::runtime
