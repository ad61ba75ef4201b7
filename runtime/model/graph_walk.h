// The layers of an analysed model as nodes of a graph, one after another. What cannot be built was
// refused before: schemas/model/trainable.h says what can.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "runtime/model/build.h"

namespace trainyard::runtime {

class GraphWalk {
 public:
  GraphWalk(const model::Analysis& analysis, const model::Facts& facts)
      : analysis_(analysis), facts_(facts) {}

  BuiltModel run();

 private:
  using Term = model::AnalysedTerm;

  void name_nodes(const std::string& name);
  void add_variables();
  void add_layers();
  void add_losses();
  NodeId loss_of(const Term& term);
  NodeId cross_entropy_of(const Term& term, NodeId scores);
  NodeId ctc_of(const Term& term, NodeId scores);
  void add_metrics();
  [[nodiscard]] Op metric_op(const Term& term) const;
  // The value that the term reads, of this shape where it is a single number.
  NodeId scores_of(const Term& term);
  [[nodiscard]] std::vector<IdField> ids_read_by(NodeId node) const;
  [[nodiscard]] std::array<std::vector<IdField>, 2> tower_ids_of(const Term& term) const;
  // A metric of each token.
  [[nodiscard]] bool is_of_tokens(const Term& term) const;
  [[nodiscard]] bool has_lengths(const Term& term) const;
  NodeId add(const Op& op, std::vector<NodeId> inputs) {
    return built_.builder.graph.add(op, std::move(inputs));
  }

  const model::Analysis& analysis_;
  const model::Facts& facts_;  // of the data set
  BuiltModel built_;
  std::vector<NodeId> nodes_;                // by layer
  std::map<std::size_t, NodeId> variables_;  // by variable, without tables of rows
};

}  // namespace trainyard::runtime
