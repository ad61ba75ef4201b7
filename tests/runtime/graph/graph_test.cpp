#include "runtime/graph/graph.h"

#include <catch2/catch.hpp>

#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

TEST_CASE("variables lie one after another at multiples of 16 elements", "[graph]") {
  Graph graph;
  graph.add_variable("a", {3, 5});
  graph.add_variable("b", {16});
  graph.add_variable("c", {1});

  const auto variables = graph.variables();
  REQUIRE(variables[0].offset == 0);
  REQUIRE(variables[1].offset == 16);
  REQUIRE(variables[2].offset == 32);
  REQUIRE(variables[0].elements == 15);
  REQUIRE(variables[0].shape == std::vector<std::int64_t>{3, 5});
  REQUIRE(graph.arena_elements() == 48);
}

TEST_CASE("shapes are known when a node is added, for one example and for a batch", "[graph]") {
  Graph graph;
  const NodeId x = graph.add_features({7, 5});  // a sequence of 7
  const NodeId y = dense(graph, x, 3);

  REQUIRE(graph.nodes()[y].shape == Shape({7, 3}));
  REQUIRE(shape_in_batch(graph.nodes()[y], 10) == Shape({10, 7, 3}));
  REQUIRE(shape_in_batch(graph.nodes()[1], 10) == Shape({5, 3}));  // a variable has one shape
}

TEST_CASE("only what depends on a variable needs a gradient", "[graph]") {
  Graph graph;
  const NodeId x = graph.add_features({5});
  const NodeId constant = graph.add(ActivationOp{Nonlinearity::relu}, {x});
  const NodeId y = dense(graph, constant, 3);
  const NodeId matches = graph.add(MatchLabelsOp{}, {y});

  REQUIRE_FALSE(graph.nodes()[x].needs_gradient);
  REQUIRE_FALSE(graph.nodes()[constant].needs_gradient);
  REQUIRE(graph.nodes()[y].needs_gradient);
  REQUIRE_FALSE(graph.nodes()[matches].needs_gradient);
}

}  // namespace trainyard::runtime
