// Tables by id: in the arena, or as rows that lie on the ps.
#include <variant>

#include "runtime/model/layers/builders.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// Where a layer's columns lie in the rows of its table.
struct RowColumns {
  std::int64_t table = 0;
  std::int64_t first = 0;
  std::int64_t columns = 0;
};

RowColumns add_columns(LayerContext& layer, const RowSource& source) {
  const model::Variable& kernel = layer.analysed_variable("kernel");
  ENSURE(kernel.role == model::VariableRole::row_table);
  ModelBuilder& builder = layer.builder();
  const auto next = std::ssize(builder.sources);
  const auto [table, is_new] = builder.tables.try_emplace(layer.x(), next);
  if (is_new) builder.sources.push_back(source);
  const bool is_zero = kernel.start.kind == model::StartKind::constant;
  const RowColumns columns{.table = table->second,
                           .first = builder.rows.width(table->second),
                           .columns = kernel.shape.back()};
  builder.rows.variables.push_back({.name = kernel.name,
                                    .columns = columns.columns,
                                    .bound = is_zero ? 0 : kernel.start.scale,
                                    .table = columns.table});
  return columns;
}

NodeId embedding_bag(LayerContext& layer) {
  const RowColumns rows = add_columns(layer, {.kind = RowSource::Kind::sparse});
  return layer.add(RowPoolOp{.first = rows.first,
                             .columns = rows.columns,
                             .pooling = layer.text("kind") == "mean" ? Pooling::mean : Pooling::sum,
                             .table = rows.table});
}

NodeId embedding(LayerContext& layer) {
  const auto* const ids = std::get_if<IdsOp>(&layer.node(layer.x()).op);
  ENSURE(ids != nullptr);
  if (layer.text("storage") == "arena") {
    return layer.add(EmbeddingOp{ids->field}, {layer.x(), layer.variable("kernel")});
  }
  const RowColumns rows = add_columns(layer, {.kind = RowSource::Kind::ids, .field = ids->field});
  return layer.add(RowLookupOp{.first = rows.first, .columns = rows.columns, .table = rows.table});
}

}  // namespace

std::vector<LayerBuilder> row_builders() {
  return {{"embedding", embedding}, {"embedding_bag", embedding_bag}};
}

}  // namespace trainyard::runtime
