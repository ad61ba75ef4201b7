// Convolutions over images and sequences: products of each window's numbers with a kernel.
#include "schemas/model/ops/activation.h"
#include "schemas/model/ops/window.h"
#include "schemas/model/sentence.h"

namespace trainyard::model {
namespace {

Fans fans_of(std::int64_t window, std::int64_t in, std::int64_t out) {
  const auto number = [](std::int64_t size) {
    return static_cast<double>(std::max(size, std::int64_t{0}));
  };
  return {number(window) * number(in), number(window) * number(out)};
}

void keeps_for_backward(LayerScribe& layer) {
  layer.costs().keeps(Kept::input_for_kernel);
  activates(layer);
}

// [height, width, in] -> [height', width', filters]
void conv2d(LayerScribe& layer) {
  Given& given = layer.given();
  const std::int64_t filters = size_or_unknown(given.integer("filters"));
  const std::int64_t in = layer.last_size(0);
  const auto windows = windows_2d(layer, "kernel", "kernel");
  const Pair kernel = given.pair("kernel").value_or(Pair{unknown_size, unknown_size});
  const Fans fans = fans_of(kernel[0] * kernel[1], in, filters);
  layer.adds_kernel(
      {.shape = {kernel[0], kernel[1], in, filters}, .fans = fans, .standard = "he_normal"});
  if (given.flag("bias")) layer.adds_bias("bias", filters, fans);
  if (windows) {
    const Sizes sizes{windows->outputs[0], windows->outputs[1], filters};
    layer.costs().multiplies(times(elements(sizes), elements(Sizes{kernel[0], kernel[1], in})));
    layer.gives(sizes);
  }
  keeps_for_backward(layer);
}

// Each channel by kernels of its own: [height, width, in] -> [height', width', in * multiplier],
// the outputs of one channel beside one another.
void depthwise_conv2d(LayerScribe& layer) {
  Given& given = layer.given();
  const Count multiplier = given.integer("multiplier");
  const std::int64_t in = layer.last_size(0);
  const auto windows = windows_2d(layer, "kernel", "kernel");
  const Pair kernel = given.pair("kernel").value_or(Pair{unknown_size, unknown_size});
  const std::int64_t out = size_or_unknown(times(known(in), multiplier));
  const Fans fans = fans_of(kernel[0] * kernel[1], 1, size_or_unknown(multiplier));
  layer.adds_kernel({.shape = {kernel[0], kernel[1], in, size_or_unknown(multiplier)},
                     .fans = fans,
                     .standard = "he_normal"});
  if (given.flag("bias")) layer.adds_bias("bias", out, fans);
  if (windows) {
    const Sizes sizes{windows->outputs[0], windows->outputs[1], out};
    layer.costs().multiplies(times(elements(sizes), elements(Sizes{kernel[0], kernel[1]})));
    layer.gives(sizes);
  }
  keeps_for_backward(layer);
}

// [time, in] -> [time', filters]
void conv1d(LayerScribe& layer) {
  Given& given = layer.given();
  const std::int64_t filters = size_or_unknown(given.integer("filters"));
  const std::int64_t in = layer.last_size(0);
  const Count kernel = given.integer("kernel");
  const Fans fans = fans_of(size_or_unknown(kernel), in, filters);
  layer.adds_kernel(
      {.shape = {size_or_unknown(kernel), in, filters}, .fans = fans, .standard = "he_normal"});
  if (given.flag("bias")) layer.adds_bias("bias", filters, fans);
  const Count stride = given.integer("stride");
  const Count dilation = given.integer("dilation");
  const bool is_sequence = layer.has_rank(0, 2, 2, "[time, features]");
  if (is_sequence && kernel && stride && dilation && given.is_known("padding")) {
    const Window window{*kernel, *stride, *dilation};
    const std::int64_t time = layer.shape(0)->front();
    const auto padding = given.pair("padding");  // nothing: "same"
    const Padded padded = padding ? pad_by(time, window, (*padding)[1]) : pad_same(time, window);
    if (padding && (*padding)[0] != (*padding)[1]) {
      layer.fault("padding", "must be one whole number, or \"same\": a sequence has one axis");
    }
    if (padded.outputs == 0) {
      layer.fault("kernel", "conv1d: a kernel of " + std::to_string(*kernel) +
                                " does not fit into the " + by_text(*layer.shape(0)) + " that " +
                                layer.input_name(0) + " gives");
    } else {
      const Sizes sizes{padded.outputs, filters};
      layer.costs().multiplies(times(elements(sizes), times(kernel, known(in))));
      layer.gives(sizes);
      if (padding || is_known(time)) {
        given.set("padding", Value::List{padded.before, padded.after});
      }
    }
  }
  keeps_for_backward(layer);
}

}  // namespace

std::vector<OpRule> convolution_ops() {
  const ArgumentRules two_axes{pair_or("kernel", ""), pair_or("stride", 1),  pair_or("dilation", 1),
                               padding_rule(),        flag_or("bias", true), activation_rule(),
                               init_rule("init"),     init_rule("bias_init")};
  ArgumentRules conv{required_size("filters")};
  conv.insert(conv.end(), two_axes.begin(), two_axes.end());
  ArgumentRules depthwise{integer_or("multiplier", 1, 1, window_max)};
  depthwise.insert(depthwise.end(), two_axes.begin(), two_axes.end());
  ArgumentRule kernel = integer_or("kernel", 1, 1, window_max);
  kernel.is_required = true;
  const ArgumentRules one_axis{required_size("filters"),
                               kernel,
                               integer_or("stride", 1, 1, window_max),
                               integer_or("dilation", 1, 1, window_max),
                               padding_rule(),
                               flag_or("bias", true),
                               activation_rule(),
                               init_rule("init"),
                               init_rule("bias_init")};
  return {{.name = "conv2d", .arguments = conv, .infer = conv2d},
          {.name = "depthwise_conv2d", .arguments = depthwise, .infer = depthwise_conv2d},
          {.name = "conv1d", .arguments = one_axis, .infer = conv1d}};
}

}  // namespace trainyard::model
