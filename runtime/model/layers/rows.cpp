// Tables of rows that lie on the ps.
#include "runtime/model/layers/builders.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

NodeId embedding_bag(LayerContext& layer) {
  const model::Variable& table = layer.analysed_variable("kernel");
  ENSURE(table.role == model::VariableRole::row_table);
  const bool is_zero = table.start.kind == model::StartKind::constant;
  const std::int64_t columns = table.shape.back();
  RowLayout& rows = layer.rows();
  const RowPoolOp op{.first = rows.width(),
                     .columns = columns,
                     .pooling = layer.text("kind") == "mean" ? Pooling::mean : Pooling::sum};
  rows.variables.push_back(
      {.name = table.name, .columns = columns, .bound = is_zero ? 0 : table.start.scale});
  return layer.add(op);
}

}  // namespace

std::vector<LayerBuilder> row_builders() { return {{"embedding_bag", embedding_bag}}; }

}  // namespace trainyard::runtime
