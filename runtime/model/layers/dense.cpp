#include "runtime/model/layers/dense.h"

#include <cmath>
#include <variant>

namespace trainyard::runtime {
namespace {

struct Fan {
  double in = 0;
  double out = 0;
};

InitialValue kernel_start(const DenseLayer& layer, Fan fan) {
  using enum InitialValue::Kind;
  switch (layer.initializer) {
    case Initializer::normal: return {normal, layer.stddev};
    case Initializer::uniform: return {uniform, layer.stddev};
    case Initializer::xavier_uniform: return {uniform, std::sqrt(6.0 / (fan.in + fan.out))};
    case Initializer::he_normal: return {normal, std::sqrt(2.0 / fan.in)};
    case Initializer::zeros: return {zeros, 0.0};
  }
  return {zeros, 0.0};
}

}  // namespace

NodeId add_dense(ModelBuilder& builder, NodeId x, const DenseLayer& layer) {
  const std::int64_t in = builder.graph.nodes()[x].shape.columns();
  const Fan fan{static_cast<double>(in), static_cast<double>(layer.units)};
  const NodeId kernel =
      builder.add_variable(layer.name + "/kernel", {in, layer.units}, kernel_start(layer, fan));
  const NodeId bias = builder.add_variable(layer.name + "/bias", {layer.units}, InitialValue{});
  const bool sparse = std::holds_alternative<SparseFeaturesOp>(builder.graph.nodes()[x].op);
  return builder.graph.add(sparse ? Op(SparseMatMulOp{}) : Op(MatMulOp{}), {x, kernel, bias});
}

}  // namespace trainyard::runtime
