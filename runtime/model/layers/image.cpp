// Convolutions and pools. Windows are [height, width], paddings [top, bottom, left, right].
#include "runtime/model/layers/builders.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Window window_of(const LayerContext& layer, std::string_view size_name, bool has_dilation) {
  const Shape& image = layer.shape(layer.x());
  const std::vector<std::int64_t> size = layer.integers(size_name);
  const std::vector<std::int64_t> stride = layer.integers("stride");
  const std::vector<std::int64_t> padding = layer.integers("padding");
  std::vector<std::int64_t> dilation{1, 1};
  if (has_dilation) dilation = layer.integers("dilation");
  ENSURE(size.size() == 2 && stride.size() == 2 && padding.size() == 4 && dilation.size() == 2);
  const auto axis = [&](std::size_t i) {
    return WindowAxis{.pixels = image[i],
                      .kernel = size[i],
                      .stride = stride[i],
                      .before = padding[2 * i],
                      .after = padding[2 * i + 1],
                      .dilation = dilation[i]};
  };
  return {.height = axis(0), .width = axis(1)};
}

std::vector<NodeId> inputs_of(const LayerContext& layer) {
  std::vector<NodeId> inputs{layer.x(), layer.variable("kernel")};
  if (layer.has_variable("bias")) inputs.push_back(layer.variable("bias"));
  return inputs;
}

NodeId conv2d(LayerContext& layer) {
  const Conv2dOp op{window_of(layer, "kernel", true)};
  return layer.activated(layer.add(op, inputs_of(layer)));
}

NodeId depthwise_conv2d(LayerContext& layer) {
  const DepthwiseConv2dOp op{window_of(layer, "kernel", true)};
  return layer.activated(layer.add(op, inputs_of(layer)));
}

// A sequence [time, features] is an image of one row.
NodeId conv1d(LayerContext& layer) {
  const Shape& sequence = layer.shape(layer.x());
  const std::int64_t time = sequence[0];
  const std::int64_t features = sequence[1];
  const std::vector<std::int64_t> padding = layer.integers("padding");
  ENSURE(padding.size() == 2);
  const WindowAxis width{.pixels = time,
                         .kernel = layer.integer("kernel"),
                         .stride = layer.integer("stride"),
                         .before = padding[0],
                         .after = padding[1],
                         .dilation = layer.integer("dilation")};
  std::vector<NodeId> inputs = inputs_of(layer);
  inputs[0] = layer.reshaped(inputs[0], {1, time, features});
  const NodeId row = layer.add(Conv2dOp{{.height = {}, .width = width}}, std::move(inputs));
  return layer.activated(layer.reshaped(row, layer.output_shape()));
}

NodeId max_pool2d(LayerContext& layer) {
  return layer.add(MaxPool2dOp{window_of(layer, "size", false)});
}

NodeId avg_pool2d(LayerContext& layer) {
  return layer.add(AvgPool2dOp{window_of(layer, "size", false)});
}

NodeId global_avg_pool(LayerContext& layer) { return layer.add(GlobalAvgPoolOp{}); }

}  // namespace

std::vector<LayerBuilder> image_builders() {
  return {{"conv2d", conv2d},         {"depthwise_conv2d", depthwise_conv2d},
          {"conv1d", conv1d},         {"max_pool2d", max_pool2d},
          {"avg_pool2d", avg_pool2d}, {"global_avg_pool", global_avg_pool}};
}

}  // namespace trainyard::runtime
