// What layers are written into: the graph, and how each of its variables starts.
#pragma once

#include <vector>

#include "runtime/core/row_layout.h"
#include "runtime/graph/graph.h"
#include "schemas/model/analysis.h"

namespace trainyard::runtime {

struct ModelBuilder {
  Graph graph;
  std::vector<model::Start> initial;  // by variable
  RowLayout rows;                     // of the embedding table; empty = none
};

}  // namespace trainyard::runtime
