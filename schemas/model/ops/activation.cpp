#include "schemas/model/ops/activation.h"

#include <algorithm>
#include <array>

namespace trainyard::model {
namespace {

struct Activation {
  std::string_view name;
  Reads reads = Reads::output;
  std::string_view init = "xavier_uniform";  // of a kernel before it
};

constexpr std::string_view he = "he_normal";
constexpr std::array activations{Activation{"relu", Reads::output, he},
                                 Activation{"leaky_relu", Reads::output, he},
                                 Activation{"elu", Reads::output, he},
                                 Activation{"gelu", Reads::input, he},
                                 Activation{"gelu_tanh", Reads::input, he},
                                 Activation{"silu", Reads::input, he},
                                 Activation{"sigmoid"},
                                 Activation{"tanh"},
                                 Activation{"softplus"},
                                 Activation{"exp"},
                                 Activation{"log", Reads::input},
                                 Activation{"log1p", Reads::input},
                                 Activation{"sqrt"},
                                 Activation{"square", Reads::input},
                                 Activation{"abs", Reads::input}};

const Activation* find_activation(std::string_view name) {
  const auto* const found = std::ranges::find(activations, name, &Activation::name);
  return found == activations.end() ? nullptr : found;
}

void elementwise(LayerScribe& layer) {
  const Activation* activation = find_activation(layer.op());
  layer.costs().keeps(activation->reads == Reads::input ? Kept::input : Kept::output);
  layer.gives(layer.shape(0));
}

void affine(LayerScribe& layer) { layer.gives(layer.shape(0)); }

void clip(LayerScribe& layer) {
  const auto least = layer.given().number("least");
  const auto most = layer.given().number("most");
  if (least && most && *least > *most) layer.fault("least", "must be at most \"most\"");
  layer.costs().keeps(Kept::input);
  layer.gives(layer.shape(0));
}

void softmax(LayerScribe& layer) {
  const bool has_axis = layer.has_rank(0, 1, rank_max, "[.., classes]");
  layer.costs().keeps(Kept::output);
  layer.gives(has_axis ? layer.shape(0) : MaybeShape());
}

// A slope below zero for each channel, which is learned: it has a variable, and so is no
// "activation".
void prelu(LayerScribe& layer) {
  const bool has_channels = layer.has_rank(0, 1, rank_max, "[.., channels]");
  const double start = layer.given().number("init").value_or(0);
  layer.adds_fixed("slope", {layer.last_size(0)}, {StartKind::constant, start});
  layer.costs().keeps(Kept::input);
  if (has_channels) layer.gives(layer.shape(0));
}

// The mask is drawn again in the backward pass.
void dropout(LayerScribe& layer) { layer.gives(layer.shape(0)); }

constexpr double largest = 3.4e38;  // of a float

}  // namespace

std::vector<std::string_view> activation_names() {
  std::vector<std::string_view> names;
  for (const Activation& activation : activations) names.push_back(activation.name);
  return names;
}

ArgumentRule activation_rule() {
  std::vector<std::string_view> names = activation_names();
  names.insert(names.begin(), "none");
  return choice_or("activation", "none", std::move(names));
}

void activates(LayerScribe& layer) {
  const Activation* activation = find_activation(layer.given().text("activation"));
  if (activation == nullptr) return;
  // Where the input of the activation is read, it is kept beside the layer's value.
  if (activation->reads == Reads::output) {
    layer.costs().keeps(Kept::output);
  } else {
    layer.costs().keeps_bytes(times(4, elements(layer.given_shape())));
  }
}

std::string_view standard_init(std::string_view activation) {
  const Activation* const found = find_activation(activation);
  return found == nullptr ? Activation{}.init : found->init;
}

Reads gradient_of_activation_reads(std::string_view activation) {
  return find_activation(activation)->reads;
}

std::vector<OpRule> activation_ops() {
  std::vector<OpRule> rules;
  for (const Activation& activation : activations) {
    OpRule rule{.name = activation.name, .infer = elementwise};
    if (activation.name == "leaky_relu") rule.arguments = {number_or("slope", 0.01, 0, 100)};
    if (activation.name == "elu") rule.arguments = {number_or("alpha", 1, 1e-6, 100)};
    rules.push_back(std::move(rule));
  }
  rules.push_back(
      {.name = "prelu", .arguments = {number_or("init", 0.25, -100, 100)}, .infer = prelu});
  rules.push_back({.name = "affine",
                   .arguments = {number_or("scale", 1, -largest, largest),
                                 number_or("shift", 0, -largest, largest)},
                   .infer = affine});
  rules.push_back({.name = "clip",
                   .arguments = {number_or("least", -1, -largest, largest),
                                 number_or("most", 1, -largest, largest)},
                   .infer = clip});
  rules.push_back({.name = "softmax", .infer = softmax});
  rules.push_back({.name = "log_softmax", .infer = softmax});
  rules.push_back(
      {.name = "dropout", .arguments = {number_or("rate", 0.5, 0, 0.999)}, .infer = dropout});
  return rules;
}

}  // namespace trainyard::model
