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
