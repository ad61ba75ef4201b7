// Normalisations, and dropout.
#include "runtime/model/layers/builders.h"

namespace trainyard::runtime {
namespace {

struct Scaled {
  NormInputs has;
  std::vector<NodeId> inputs;  // x, scale and offset as far as there are
};

Scaled scaled(const LayerContext& layer) {
  Scaled scaled{
      .has = {.scale = layer.has_variable("scale"), .offset = layer.has_variable("offset")},
      .inputs = {layer.x()}};
  if (scaled.has.scale) scaled.inputs.push_back(layer.variable("scale"));
  if (scaled.has.offset) scaled.inputs.push_back(layer.variable("offset"));
  return scaled;
}

NodeId batch_norm(LayerContext& layer) {
  auto [has, inputs] = scaled(layer);
  inputs.push_back(layer.variable("mean"));
  inputs.push_back(layer.variable("variance"));
  return layer.add(BatchNormOp{.epsilon = layer.number("epsilon"), .has = has}, std::move(inputs));
}

NodeId layer_norm(LayerContext& layer) {
  auto [has, inputs] = scaled(layer);
  return layer.add(LayerNormOp{.epsilon = layer.number("epsilon"), .has = has}, std::move(inputs));
}

NodeId rms_norm(LayerContext& layer) {
  auto [has, inputs] = scaled(layer);
  return layer.add(RmsNormOp{.epsilon = layer.number("epsilon"), .has = has}, std::move(inputs));
}

NodeId group_norm(LayerContext& layer) {
  auto [has, inputs] = scaled(layer);
  const GroupNormOp op{
      .groups = layer.integer("groups"), .epsilon = layer.number("epsilon"), .has = has};
  return layer.add(op, std::move(inputs));
}

NodeId dropout(LayerContext& layer) {
  const double rate = layer.number("rate");
  const std::uint32_t number = layer.next_dropout();  // another's does not change with this rate
  return rate > 0 ? layer.add(DropoutOp{.rate = rate, .layer = number}) : layer.x();
}

}  // namespace

std::vector<LayerBuilder> norm_builders() {
  return {{"batch_norm", batch_norm},
          {"layer_norm", layer_norm},
          {"rms_norm", rms_norm},
          {"group_norm", group_norm},
          {"dropout", dropout}};
}

}  // namespace trainyard::runtime
