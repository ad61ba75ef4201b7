// Normalisations. Batch norm takes the running averages; of the others ONNX has no op in this
// version, or a new one that few runtimes know, so they are spelled out.
#include "schemas/onnx/op_writer.h"

namespace trainyard::onnx {
namespace {

// A scale or an offset that a layer does not have.
std::string all_of(LayerWriter& layer, double value, std::int64_t channels) {
  if (!layer.graph().has_room_for(channels)) channels = 0;  // the export is refused afterwards
  const Floats numbers(static_cast<std::size_t>(channels), static_cast<float>(value));
  return layer.graph().numbers("all", numbers, {channels});
}

void batch_norm(LayerWriter& layer) {
  const std::int64_t channels = layer.shape().back();
  const auto part = [&](const char* name, double standard) {
    return layer.has_variable(name) ? layer.weight(name) : all_of(layer, standard, channels);
  };
  const Texts inputs{layer.first(), part("scale", 1), part("offset", 0), layer.weight("mean"),
                     layer.weight("variance")};
  layer.gives_first(
      layer.add("BatchNormalization", inputs, {{"epsilon", layer.number("epsilon")}}));
}

std::string mean_of(LayerWriter& layer, const std::string& x, const Integers& axes) {
  return layer.add("ReduceMean", {x}, {{"axes", axes}, {"keepdims", 1}});
}

// x / sqrt(the mean of its squares over the axes + epsilon)
std::string by_deviation(LayerWriter& layer, const std::string& x, const Integers& axes) {
  const std::string variance = mean_of(layer, layer.add("Mul", {x, x}), axes);
  const std::string sum =
      layer.add("Add", {variance, layer.graph().scalar(layer.number("epsilon"))});
  return layer.add("Div", {x, layer.add("Sqrt", {sum})});
}

std::string centered(LayerWriter& layer, const std::string& x, const Integers& axes) {
  return layer.add("Sub", {x, mean_of(layer, x, axes)});
}

// By the scale and the offset, as far as there are, of the last axis.
std::string scaled(LayerWriter& layer, std::string x) {
  if (layer.has_variable("scale")) x = layer.add("Mul", {x, layer.weight("scale")});
  if (layer.has_variable("offset")) x = layer.add("Add", {x, layer.weight("offset")});
  return x;
}

void layer_norm(LayerWriter& layer) {
  const Integers axes{-1};
  const std::string x = centered(layer, layer.last(), axes);
  layer.gives_last(scaled(layer, by_deviation(layer, x, axes)));
}

void rms_norm(LayerWriter& layer) {
  layer.gives_last(scaled(layer, by_deviation(layer, layer.last(), {-1})));
}

// [pixels, groups, channels of a group]
void group_norm(LayerWriter& layer) {
  const model::Sizes& shape = layer.shape();
  const std::int64_t groups = layer.integer("groups");
  std::int64_t pixels = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i) pixels *= shape[i];
  const Integers axes{1, 3};
  const std::string cut = layer.add_reshape(layer.last(), {pixels, groups, shape.back() / groups});
  const std::string even = by_deviation(layer, centered(layer, cut, axes), axes);
  layer.gives_last(scaled(layer, layer.add_reshape(even, shape)));
}

}  // namespace

std::vector<OpWriter> norm_writers() {
  return {{"batch_norm", batch_norm},
          {"layer_norm", layer_norm},
          {"rms_norm", rms_norm},
          {"group_norm", group_norm}};
}

}  // namespace trainyard::onnx
