// What layers and models are written into: the graph, and how each of its variables starts.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/row_layout.h"
#include "runtime/graph/graph.h"

namespace trainyard::runtime {

// How the elements of a variable start.
struct InitialValue {
  enum class Kind { constant, normal, uniform } kind = Kind::constant;
  // All of them; normal: the standard deviation; uniform: the bound on both sides.
  double scale = 0;
};

struct ModelBuilder {
  Graph graph;
  std::vector<InitialValue> initial;  // by variable
  RowLayout rows;                     // of the embedding table; empty = none

  NodeId add_variable(std::string name, const Shape& shape, InitialValue value) {
    initial.push_back(value);
    return graph.add_variable(std::move(name), shape);
  }
};

}  // namespace trainyard::runtime
