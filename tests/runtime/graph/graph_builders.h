// Small graphs that tests share.
#pragma once

#include <vector>

#include "runtime/graph/graph.h"

namespace trainyard::runtime {

struct SmallGraph {
  Graph graph;
  NodeId loss = 0;
};

inline NodeId dense(Graph& graph, NodeId x, std::int64_t units) {
  const std::int64_t in = graph.nodes()[x].shape.columns();
  const std::string name = "v" + std::to_string(graph.variables().size());
  const NodeId kernel = graph.add_variable(name + "/kernel", {in, units});
  const NodeId bias = graph.add_variable(name + "/bias", {units});
  return graph.add(MatMulOp{}, {x, kernel, bias});
}

// The same of sparse features.
inline NodeId sparse_dense(Graph& graph, NodeId x, std::int64_t units) {
  const std::int64_t in = graph.nodes()[x].shape.columns();
  const std::string name = "v" + std::to_string(graph.variables().size());
  const NodeId kernel = graph.add_variable(name + "/kernel", {in, units});
  const NodeId bias = graph.add_variable(name + "/bias", {units});
  return graph.add(SparseMatMulOp{}, {x, kernel, bias});
}

// Of a window that goes over both axes of an image alike.
struct Sides {
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::int64_t dilation = 1;
};

inline Window window_over(const Graph& graph, NodeId x, const Sides& sides) {
  const auto axis = [&](std::int64_t pixels) {
    return WindowAxis{.pixels = pixels,
                      .kernel = sides.kernel,
                      .stride = sides.stride,
                      .before = sides.before,
                      .after = sides.after,
                      .dilation = sides.dilation};
  };
  const Shape& shape = graph.nodes()[x].shape;
  return {.height = axis(shape[0]), .width = axis(shape[1])};
}

enum class Bias { added, none };

inline NodeId conv(Graph& graph, NodeId x, std::int64_t filters, const Sides& sides,
                   Bias bias = Bias::added) {
  const std::int64_t channels = graph.nodes()[x].shape.columns();
  const std::string name = "v" + std::to_string(graph.variables().size());
  std::vector<NodeId> inputs{x};
  inputs.push_back(
      graph.add_variable(name + "/kernel", {sides.kernel, sides.kernel, channels, filters}));
  if (bias == Bias::added) inputs.push_back(graph.add_variable(name + "/bias", {filters}));
  return graph.add(Conv2dOp{window_over(graph, x, sides)}, std::move(inputs));
}

// features [5] -> dense 4 -> kind -> dense 4 with the weights of a recurrent step, twice -> dense 3
// -> cross entropy: a value with two users and a variable with two.
inline SmallGraph shared_weights_graph(Nonlinearity kind) {
  SmallGraph small;
  Graph& graph = small.graph;
  NodeId x = graph.add(ActivationOp{kind}, {dense(graph, graph.add_features({5}), 4)});
  const NodeId kernel = graph.add_variable("step/kernel", {4, 4});
  const NodeId bias = graph.add_variable("step/bias", {4});
  for (int step = 0; step < 2; ++step) {
    x = graph.add(ActivationOp{kind}, {graph.add(MatMulOp{}, {x, kernel, bias})});
  }
  small.loss = graph.add(SoftmaxCrossEntropyOp{}, {dense(graph, x, 3)});
  return small;
}

}  // namespace trainyard::runtime
