// Convolutions and pools, which ONNX computes with channels first. Windows are [height, width],
// paddings [top, bottom, left, right], which ONNX has as [top, left, bottom, right].
#include "schemas/base/check.h"
#include "schemas/onnx/op_writer.h"

namespace trainyard::onnx {
namespace {

// A kernel with its axes in another order; `shape` is what ONNX calls them then.
std::string kernel(LayerWriter& layer, const char* order, const std::vector<int>& axes,
                   model::Sizes shape) {
  return layer.weight("kernel", {.name = order,
                                 .shape = std::move(shape),
                                 .variables = {},
                                 .arrange = [sizes = layer.variable("kernel").shape,
                                             axes](std::span<const Floats> variables) {
                                   return transposed(variables.front(), sizes, axes);
                                 }});
}

Attributes window_of(const LayerWriter& layer, std::string_view size) {
  const Integers padding = layer.integers("padding");
  ENSURE(padding.size() == 4);
  return {{"kernel_shape", layer.integers(size)},
          {"strides", layer.integers("stride")},
          {"pads", Integers{padding[0], padding[2], padding[1], padding[3]}}};
}

void convolve(LayerWriter& layer, const std::string& weights, Attributes attributes) {
  Texts inputs{layer.first(), weights};
  if (layer.has_variable("bias")) inputs.push_back(layer.weight("bias"));
  layer.gives_first(activated(layer, layer.add("Conv", std::move(inputs), std::move(attributes))));
}

// [height, width, in, filters]
void conv2d(LayerWriter& layer) {
  const model::Sizes& shape = layer.variable("kernel").shape;
  const std::string weights =
      kernel(layer, "oihw", {3, 2, 0, 1}, {shape[3], shape[2], shape[0], shape[1]});
  Attributes attributes = window_of(layer, "kernel");
  attributes.push_back({"dilations", layer.integers("dilation")});
  convolve(layer, weights, std::move(attributes));
}

// [height, width, channels, multiplier]: a group for each channel
void depthwise_conv2d(LayerWriter& layer) {
  const model::Sizes& shape = layer.variable("kernel").shape;
  const std::string weights =
      kernel(layer, "oihw", {2, 3, 0, 1}, {shape[2] * shape[3], 1, shape[0], shape[1]});
  Attributes attributes = window_of(layer, "kernel");
  attributes.push_back({"dilations", layer.integers("dilation")});
  attributes.push_back({"group", shape[2]});
  convolve(layer, weights, std::move(attributes));
}

// [time, in, filters]
void conv1d(LayerWriter& layer) {
  const model::Sizes& shape = layer.variable("kernel").shape;
  const std::string weights = kernel(layer, "oiw", {2, 1, 0}, {shape[2], shape[1], shape[0]});
  convolve(layer, weights,
           {{"kernel_shape", Integers{shape[0]}},
            {"strides", Integers{layer.integer("stride")}},
            {"pads", layer.integers("padding")},
            {"dilations", Integers{layer.integer("dilation")}}});
}

void max_pool2d(LayerWriter& layer) {
  layer.gives_first(layer.add("MaxPool", {layer.first()}, window_of(layer, "size")));
}

void avg_pool2d(LayerWriter& layer) {
  Attributes attributes = window_of(layer, "size");
  attributes.push_back({"count_include_pad", 0});
  layer.gives_first(layer.add("AveragePool", {layer.first()}, std::move(attributes)));
}

void global_avg_pool(LayerWriter& layer) {
  const std::string mean = layer.add("GlobalAveragePool", {layer.first()});
  layer.gives_last(layer.add("Flatten", {mean}, {{"axis", 1}}));
}

}  // namespace

std::vector<OpWriter> image_writers() {
  return {{"conv2d", conv2d},         {"depthwise_conv2d", depthwise_conv2d},
          {"conv1d", conv1d},         {"max_pool2d", max_pool2d},
          {"avg_pool2d", avg_pool2d}, {"global_avg_pool", global_avg_pool}};
}

}  // namespace trainyard::onnx
