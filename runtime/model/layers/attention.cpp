// Layers of sequences that look at places: attention (spelled out by schemas/model to dense layers,
// slices and this), positions, rotations.
#include "runtime/model/layers/builders.h"
#include "schemas/model/data_time.h"

namespace trainyard::runtime {
namespace {

NodeId sdpa(LayerContext& layer) {
  const SdpaOp op{
      .heads = layer.integer("heads"),
      .is_causal = layer.flag("causal"),
      .dropout = layer.number("dropout"),
      .layer = layer.next_dropout(),
      .has_lengths = model::is_time_of_data(layer.analysis(), layer.shape(layer.in()[1])[0])};
  return layer.add(op);
}

NodeId positions(LayerContext& layer) {
  return layer.add(PositionsOp{}, {layer.x(), layer.variable("kernel")});
}

NodeId rope(LayerContext& layer) {
  return layer.add(RopeOp{{.heads = layer.integer("heads"), .theta = layer.number("theta")}});
}

}  // namespace

std::vector<LayerBuilder> attention_builders() {
  return {{"sdpa", sdpa}, {"positions", positions}, {"rope", rope}};
}

}  // namespace trainyard::runtime
