// The layers of an analysed model as nodes of a graph, one after another. What cannot be built was
// refused before: schemas/model/trainable.h says what can.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "runtime/model/build.h"

namespace trainyard::runtime {

class GraphWalk {
 public:
  explicit GraphWalk(const model::Analysis& analysis) : analysis_(analysis) {}

  BuiltModel run();

 private:
  using Layer = model::AnalysedLayer;
  using Term = model::AnalysedTerm;

  void add_variables();
  NodeId node_of(const Layer& layer);
  NodeId input(const Layer& layer);
  NodeId dense(const Layer& layer);
  NodeId reshaped(const Layer& layer);
  NodeId sum(const Layer& layer);
  NodeId pooled_rows(const Layer& layer);
  NodeId activated(NodeId x, const std::string& name);
  void add_loss();
  void add_metrics();

  [[nodiscard]] const Node& node(NodeId id) const { return built_.builder.graph.nodes()[id]; }
  NodeId add(const Op& op, std::vector<NodeId> inputs) {
    return built_.builder.graph.add(op, std::move(inputs));
  }

  const model::Analysis& analysis_;
  BuiltModel built_;
  std::vector<NodeId> nodes_;                // by layer
  std::map<std::size_t, NodeId> variables_;  // by variable, without tables of rows
};

}  // namespace trainyard::runtime
