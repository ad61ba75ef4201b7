// Ops of single numbers, of two values, and of rows of numbers.
#include <algorithm>
#include <array>
#include <functional>
#include <numbers>

#include "schemas/base/check.h"
#include "schemas/onnx/op_writer.h"

namespace trainyard::onnx {
namespace {

constexpr double standard_slope = 0.01;  // schemas/model/ops/activation.cpp
constexpr double standard_elu_alpha = 1;

// Those of which ONNX has an op of its own, without arguments.
struct Plain {
  std::string_view name;
  const char* op;
};
constexpr std::array plain_ops{Plain{"relu", "Relu"}, Plain{"sigmoid", "Sigmoid"},
                               Plain{"tanh", "Tanh"}, Plain{"softplus", "Softplus"},
                               Plain{"exp", "Exp"},   Plain{"log", "Log"},
                               Plain{"sqrt", "Sqrt"}, Plain{"abs", "Abs"}};

// x / 2 (1 + gate)
std::string half_gated(LayerWriter& layer, const std::string& x, const std::string& gate) {
  const std::string sum = layer.add("Add", {gate, layer.graph().scalar(1)});
  const std::string half = layer.add("Mul", {x, layer.graph().scalar(0.5)});
  return layer.add("Mul", {half, sum});
}

std::string gelu(LayerWriter& layer, const std::string& x) {
  const std::string scaled = layer.add("Mul", {x, layer.graph().scalar(1 / std::numbers::sqrt2)});
  return half_gated(layer, x, layer.add("Erf", {scaled}));
}

// tanh(sqrt(2 / pi) (x + 0.044715 x^3))
std::string gelu_tanh(LayerWriter& layer, const std::string& x) {
  constexpr double cubic = 0.044715;
  constexpr double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const std::string square = layer.add("Mul", {x, x});
  const std::string third = layer.add("Mul", {square, x});
  const std::string scaled = layer.add("Mul", {third, layer.graph().scalar(cubic)});
  const std::string sum = layer.add("Add", {x, scaled});
  const std::string inner = layer.add("Mul", {sum, layer.graph().scalar(root)});
  return half_gated(layer, x, layer.add("Tanh", {inner}));
}

// The same for either order of the axes.
void each_number(LayerWriter& layer, const std::function<std::string(const std::string&)>& write) {
  if (layer.is_first()) return layer.gives_first(write(layer.first()));
  layer.gives_last(write(layer.last()));
}

void activation(LayerWriter& layer) {
  const std::string& op = layer.layer().op;
  double alpha = 0;
  if (op == "leaky_relu") alpha = layer.number("slope");
  if (op == "elu") alpha = layer.number("alpha");
  each_number(layer, [&](const std::string& x) { return activated(layer, x, op, alpha); });
}

// ONNX stretches the slope from the last axis on: channels first it needs an axis for each other
// one.
void prelu(LayerWriter& layer) {
  if (!layer.is_first()) {
    return layer.gives_last(layer.add("PRelu", {layer.last(), layer.weight("slope")}));
  }
  model::Sizes shape(layer.shape().size(), 1);
  shape.front() = layer.shape().back();
  const std::string slope =
      layer.weight("slope", {.name = "first", .shape = std::move(shape), .variables = {}});
  layer.gives_first(layer.add("PRelu", {layer.first(), slope}));
}

void affine(LayerWriter& layer) {
  each_number(layer, [&](const std::string& x) {
    const std::string scaled = layer.add("Mul", {x, layer.graph().scalar(layer.number("scale"))});
    return layer.add("Add", {scaled, layer.graph().scalar(layer.number("shift"))});
  });
}

void clip(LayerWriter& layer) {
  each_number(layer, [&](const std::string& x) {
    return layer.add("Clip", {x, layer.graph().scalar(layer.number("least")),
                              layer.graph().scalar(layer.number("most"))});
  });
}

// A trained model drops nothing.
void dropout(LayerWriter& layer) { layer.gives_same(0); }

void softmax(LayerWriter& layer) {
  const bool is_log = layer.layer().op == "log_softmax";
  layer.gives_last(layer.add(is_log ? "LogSoftmax" : "Softmax", {layer.last()}, {{"axis", -1}}));
}

void l2_normalize(LayerWriter& layer) {
  constexpr double least = 1e-12;
  const std::string x = layer.last();
  const std::string norm = layer.add("ReduceL2", {x}, {{"axes", Integers{-1}}, {"keepdims", 1}});
  const std::string bounded = layer.add("Max", {norm, layer.graph().scalar(least)});
  layer.gives_last(layer.add("Div", {x, bounded}));
}

const char* binary_op(std::string_view op) {
  if (op == "add") return "Add";
  if (op == "sub") return "Sub";
  if (op == "mul") return "Mul";
  if (op == "div") return "Div";
  if (op == "max") return "Max";
  ENSURE(op == "min");
  return "Min";
}

// Channels first where all have one shape and one of them lies so anyway.
bool goes_first(const LayerWriter& layer) {
  bool is_any = false;
  for (std::size_t i = 0; i < layer.inputs(); ++i) {
    if (layer.shape(i) != layer.shape(0)) return false;
    is_any = is_any || layer.is_first(i);
  }
  return is_any;
}

// Axes are compared from the last, of one example: the batch stays in front.
std::string aligned(LayerWriter& layer, std::size_t input) {
  const model::Sizes& shape = layer.shape(input);
  const std::size_t rank = layer.output_shape().size();
  if (shape.size() == rank) return layer.last(input);
  Integers sizes(rank - shape.size(), 1);
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return layer.add_reshape(layer.last(input), sizes);
}

void binary(LayerWriter& layer) {
  const char* const op = binary_op(layer.layer().op);
  const bool is_first = goes_first(layer);
  const auto input = [&](std::size_t i) { return is_first ? layer.first(i) : aligned(layer, i); };
  std::string sum = input(0);
  for (std::size_t i = 1; i < layer.inputs(); ++i) {
    const std::string next = input(i);
    sum = layer.add(op, {sum, next});
  }
  if (is_first) return layer.gives_first(sum);
  layer.gives_last(sum);
}

}  // namespace

std::string activated(LayerWriter& layer, const std::string& x, std::string_view name,
                      double alpha) {
  if (name == "none") return x;
  const auto* const plain = std::ranges::find(plain_ops, name, &Plain::name);
  if (plain != plain_ops.end()) return layer.add(plain->op, {x});
  if (name == "leaky_relu") return layer.add("LeakyRelu", {x}, {{"alpha", alpha}});
  if (name == "elu") return layer.add("Elu", {x}, {{"alpha", alpha}});
  if (name == "gelu") return gelu(layer, x);
  if (name == "gelu_tanh") return gelu_tanh(layer, x);
  if (name == "silu") return layer.add("Mul", {x, layer.add("Sigmoid", {x})});
  if (name == "square") return layer.add("Mul", {x, x});
  ENSURE(name == "log1p");
  return layer.add("Log", {layer.add("Add", {x, layer.graph().scalar(1)})});
}

std::string activated(LayerWriter& layer, const std::string& x) {
  const std::string& name = layer.text("activation");
  return activated(layer, x, name, name == "elu" ? standard_elu_alpha : standard_slope);
}

std::vector<OpWriter> elementwise_writers() {
  std::vector<OpWriter> writers{
      {"affine", affine},         {"clip", clip},           {"dropout", dropout},
      {"softmax", softmax},       {"log_softmax", softmax}, {"l2_normalize", l2_normalize},
      {"leaky_relu", activation}, {"elu", activation},      {"gelu", activation},
      {"gelu_tanh", activation},  {"silu", activation},     {"square", activation},
      {"log1p", activation},      {"prelu", prelu}};
  for (const Plain& plain : plain_ops) writers.push_back({plain.name, activation});
  for (const char* const op : {"add", "sub", "mul", "div", "max", "min"}) {
    writers.push_back({op, binary});
  }
  return writers;
}

}  // namespace trainyard::onnx
