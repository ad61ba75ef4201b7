// What layers are written into: the graph, how each of its variables starts, and the embedding
// tables that are none of them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/core/row_layout.h"
#include "runtime/graph/graph.h"
#include "runtime/model/row_batch.h"
#include "schemas/model/analysis.h"

namespace trainyard::runtime {

struct ModelBuilder {
  Graph graph;
  std::vector<model::Start> initial;  // by variable
  RowLayout rows{};                   // of embedding tables; empty = none
  std::vector<RowSource> sources{};   // by table
  // By the node that is read: layers that read the same ids have their columns in the same rows.
  std::map<NodeId, std::int64_t> tables{};
};

}  // namespace trainyard::runtime
