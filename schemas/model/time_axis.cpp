#include "schemas/model/time_axis.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace trainyard::model {
namespace {

// Ops that make of a sequence's steps as many steps, each of the same or of those before and after.
constexpr std::array keeps_steps{
    "dense",      "embedding", "positions", "rope",       "sdpa",     "dropout",     "relu",
    "leaky_relu", "elu",       "gelu",      "gelu_tanh",  "silu",     "sigmoid",     "tanh",
    "softplus",   "exp",       "log",       "log1p",      "sqrt",     "square",      "abs",
    "affine",     "clip",      "softmax",   "layer_norm", "rms_norm", "log_softmax", "l2_normalize",
    "add",        "sub",       "mul",       "div",        "max",      "min",         "lstm",
    "gru",        "rnn",       "conv1d"};

}  // namespace

bool follows_data_time(const Analysis& analysis, std::size_t layer) {
  const AnalysedLayer* at = &analysis.layers[layer];
  while (at->op != "input") {
    const bool keeps =
        std::ranges::find(keeps_steps, std::string_view(at->op)) != keeps_steps.end();
    const MaybeShape& from = analysis.layers[at->in.front()].shape;
    // A convolution may leave steps out, a recurrence all but the last.
    if (!keeps || !at->shape || !from || at->shape->size() < 2) return false;
    if (at->shape->front() != from->front()) return false;
    at = &analysis.layers[at->in.front()];
  }
  if (!at->shape) return false;
  return at->kind == ElementKind::id ? at->shape->size() == 1 : at->shape->size() == 2;
}

bool is_time_of_data(const Analysis& analysis, std::int64_t time) {
  return std::ranges::any_of(analysis.layers, [&](const AnalysedLayer& input) {
    return input.op == "input" && input.shape && !input.shape->empty() &&
           input.shape->front() == time;
  });
}

}  // namespace trainyard::model
