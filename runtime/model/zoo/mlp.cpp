#include "runtime/model/zoo/mlp.h"

#include <string>

#include "runtime/model/layers/dense.h"

namespace trainyard::runtime {
namespace {

Nonlinearity nonlinearity(Activation activation) {
  switch (activation) {
    case Activation::sigmoid: return Nonlinearity::sigmoid;
    case Activation::tanh: return Nonlinearity::tanh;
    case Activation::relu: return Nonlinearity::relu;
  }
  return Nonlinearity::sigmoid;
}

}  // namespace

NodeId add_mlp(ModelBuilder& builder, NodeId x, const ModelSpec& spec, std::int64_t outputs) {
  DenseLayer layer{.name = "", .initializer = spec.initializer, .stddev = spec.stddev};
  std::size_t index = 0;
  for (const std::int64_t width : spec.hidden) {
    layer.name = "dense_" + std::to_string(index++);
    layer.units = width;
    x = add_dense(builder, x, layer);
    x = builder.graph.add(ActivationOp{nonlinearity(spec.activation)}, {x});
  }
  layer.name = "dense_" + std::to_string(index);
  layer.units = outputs;
  return add_dense(builder, x, layer);
}

}  // namespace trainyard::runtime
