// Layers of sequences that look at places: attention (spelled out by schemas/model to dense layers,
// slices and this), positions, rotations.
#include <algorithm>

#include "runtime/model/layers/builders.h"

namespace trainyard::runtime {
namespace {

// Lengths are those of the data's sequences: keys of another time, such as a strided convolution's,
// are all there.
bool is_time_of_data(const LayerContext& layer, std::int64_t time) {
  return std::ranges::any_of(layer.analysis().layers, [&](const model::AnalysedLayer& input) {
    return input.op == "input" && input.shape && !input.shape->empty() &&
           input.shape->front() == time;
  });
}

NodeId sdpa(LayerContext& layer) {
  const SdpaOp op{.heads = layer.integer("heads"),
                  .is_causal = layer.flag("causal"),
                  .dropout = layer.number("dropout"),
                  .layer = layer.next_dropout(),
                  .has_lengths = is_time_of_data(layer, layer.shape(layer.in()[1])[0])};
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
