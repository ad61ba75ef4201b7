// The layers of an analysed model as nodes of a graph: a function for each op, a file for each
// family, as in schemas/model/ops.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/model/layers/layer_context.h"

namespace trainyard::runtime {

struct LayerBuilder {
  std::string_view op;
  NodeId (*build)(LayerContext& layer) = nullptr;  // the node of the layer's value
};

// Every op of the language: what cannot be trained yet is in schemas/model/trainable.
std::span<const LayerBuilder> layer_builders();
const LayerBuilder* find_layer_builder(std::string_view op);

// relu, ... with the standard numbers of those that have one.
Activation activation_of(std::string_view name);

// The families.
std::vector<LayerBuilder> elementwise_builders();
std::vector<LayerBuilder> dense_builders();
std::vector<LayerBuilder> image_builders();
std::vector<LayerBuilder> layout_builders();
std::vector<LayerBuilder> norm_builders();
std::vector<LayerBuilder> attention_builders();
std::vector<LayerBuilder> recurrent_builders();
std::vector<LayerBuilder> row_builders();

}  // namespace trainyard::runtime
