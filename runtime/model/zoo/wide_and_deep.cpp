#include "runtime/model/zoo/wide_and_deep.h"

#include "runtime/model/zoo/mlp.h"

namespace trainyard::runtime {
namespace {

constexpr double embedding_bound = 0.05;

}  // namespace

NodeId add_wide_and_deep(ModelBuilder& builder, NodeId features, const ModelSpec& spec) {
  builder.rows.variables = {
      {.name = "wide/kernel", .columns = 1, .bound = 0},
      {.name = "embedding/kernel", .columns = spec.embedding_size, .bound = embedding_bound}};
  const NodeId wide =
      builder.graph.add(RowPoolOp{.first = 0, .columns = 1, .pooling = Pooling::sum}, {features});
  const NodeId pooled = builder.graph.add(
      RowPoolOp{.first = 1, .columns = spec.embedding_size, .pooling = Pooling::mean}, {features});
  const NodeId deep = add_mlp(builder, pooled, spec, 1);
  return builder.graph.add(AddOp{}, {wide, deep});
}

}  // namespace trainyard::runtime
