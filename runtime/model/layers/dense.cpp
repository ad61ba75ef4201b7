// Products with a kernel.
#include "runtime/model/layers/builders.h"

namespace trainyard::runtime {
namespace {

NodeId dense(LayerContext& layer) {
  const bool is_tied = layer.layer().tied_to.has_value();
  std::vector<NodeId> inputs{layer.x(), is_tied ? layer.tied() : layer.variable("kernel")};
  if (layer.has_variable("bias")) inputs.push_back(layer.variable("bias"));
  const bool is_sparse = std::holds_alternative<SparseFeaturesOp>(layer.node(layer.x()).op);
  if (is_sparse) return layer.activated(layer.add(SparseMatMulOp{}, std::move(inputs)));
  const MatMulOp op{.has_transposed_kernel = is_tied && layer.layer().is_tied_transposed};
  return layer.activated(layer.add(op, std::move(inputs)));
}

}  // namespace

std::vector<LayerBuilder> dense_builders() { return {{"dense", dense}}; }

}  // namespace trainyard::runtime
