// Ops of single numbers, of two values, and of rows of numbers.
#include <algorithm>
#include <iterator>

#include "runtime/model/layers/builders.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Nonlinearity kind_of(std::string_view name) {
  const auto* const found = std::ranges::find(nonlinearities, name, &NamedNonlinearity::name);
  ENSURE(found != std::end(nonlinearities));
  return found->kind;
}

NodeId activation(LayerContext& layer) {
  Activation function = activation_of(layer.layer().op);
  if (function.kind == Nonlinearity::leaky_relu) {
    function.alpha = static_cast<float>(layer.number("slope"));
  }
  if (function.kind == Nonlinearity::elu) {
    function.alpha = static_cast<float>(layer.number("alpha"));
  }
  return layer.add(ActivationOp{function});
}

NodeId prelu(LayerContext& layer) {
  return layer.add(PreluOp{}, {layer.x(), layer.variable("slope")});
}

NodeId affine(LayerContext& layer) {
  return layer.add(AffineOp{{.scale = static_cast<float>(layer.number("scale")),
                             .shift = static_cast<float>(layer.number("shift"))}});
}

NodeId clip(LayerContext& layer) {
  return layer.add(ClipOp{{.least = static_cast<float>(layer.number("least")),
                           .most = static_cast<float>(layer.number("most"))}});
}

NodeId softmax(LayerContext& layer) { return layer.add(SoftmaxOp{}); }
NodeId log_softmax(LayerContext& layer) { return layer.add(LogSoftmaxOp{}); }
NodeId l2_normalize(LayerContext& layer) { return layer.add(L2NormalizeOp{}); }

// From the left, as the order of a sum is its bits.
template <Binary kind>
NodeId binary(LayerContext& layer) {
  NodeId value = layer.x();
  for (std::size_t i = 1; i < layer.in().size(); ++i) {
    const NodeId next = layer.in()[i];
    const bool is_plain_sum = kind == Binary::add && layer.shape(value) == layer.shape(next);
    value = layer.add(is_plain_sum ? Op(AddOp{}) : Op(BinaryOp{kind}), {value, next});
  }
  return value;
}

NodeId matmul(LayerContext& layer) {
  return layer.add(
      MatrixProductOp{{.a = layer.flag("transpose_a"), .b = layer.flag("transpose_b")}});
}

NodeId fm(LayerContext& layer) { return layer.add(FactorizeOp{}); }
NodeId pairwise_dot(LayerContext& layer) { return layer.add(PairwiseDotOp{}); }

}  // namespace

Activation activation_of(std::string_view name) {
  constexpr float slope = 0.01F;  // schemas/model/ops/activation.cpp
  const Nonlinearity kind = kind_of(name);
  if (kind == Nonlinearity::leaky_relu) return {kind, slope};
  if (kind == Nonlinearity::elu) return {kind, 1.0F};
  return kind;
}

std::vector<LayerBuilder> elementwise_builders() {
  std::vector<LayerBuilder> builders{{"prelu", prelu},
                                     {"affine", affine},
                                     {"clip", clip},
                                     {"softmax", softmax},
                                     {"log_softmax", log_softmax},
                                     {"l2_normalize", l2_normalize},
                                     {"add", binary<Binary::add>},
                                     {"sub", binary<Binary::sub>},
                                     {"mul", binary<Binary::mul>},
                                     {"div", binary<Binary::div>},
                                     {"max", binary<Binary::max>},
                                     {"min", binary<Binary::min>},
                                     {"matmul", matmul},
                                     {"fm", fm},
                                     {"pairwise_dot", pairwise_dot}};
  for (const NamedNonlinearity& each : nonlinearities) builders.push_back({each.name, activation});
  return builders;
}

}  // namespace trainyard::runtime
