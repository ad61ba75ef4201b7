#include "runtime/model/layers/builders.h"

#include <algorithm>

namespace trainyard::runtime {
namespace {

std::vector<LayerBuilder> all_builders() {
  std::vector<LayerBuilder> all;
  for (const auto& family :
       {elementwise_builders(), dense_builders(), image_builders(), layout_builders(),
        norm_builders(), attention_builders(), recurrent_builders(), row_builders()}) {
    all.insert(all.end(), family.begin(), family.end());
  }
  return all;
}

}  // namespace

std::span<const LayerBuilder> layer_builders() {
  static const std::vector<LayerBuilder> builders = all_builders();
  return builders;
}

const LayerBuilder* find_layer_builder(std::string_view op) {
  const auto found = std::ranges::find(layer_builders(), op, &LayerBuilder::op);
  return found == layer_builders().end() ? nullptr : &*found;
}

}  // namespace trainyard::runtime
