#include "schemas/model/data_time.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "schemas/model/ops/activation.h"

namespace trainyard::model {
namespace {

bool is_of(const auto& ops, std::string_view op) { return std::ranges::find(ops, op) != ops.end(); }

// Ops that make of a sequence's steps as many steps, each of nothing but the same step, or of steps
// that its example has: all activations, and these.
constexpr std::array others_that_keep_steps{
    "dense", "embedding", "positions",  "rope",     "sdpa",        "dropout",      "affine",
    "clip",  "softmax",   "layer_norm", "rms_norm", "log_softmax", "l2_normalize", "add",
    "sub",   "mul",       "div",        "max",      "min",         "slice",        "concat",
    "lstm",  "gru",       "rnn",        "prelu"};
bool keeps_steps(std::string_view op) {
  return is_of(others_that_keep_steps, op) || is_of(activation_names(), op);
}

// A recurrence's last state is that of an example's last step.
bool stops_at_length(const AnalysedLayer& layer) {
  return is_of(std::array{"lstm", "gru", "rnn"}, layer.op);
}

// The first step is there in every example.
bool is_first_step(const AnalysedLayer& layer) {
  const auto is = [&layer](std::string_view name, double number) {
    const Value* const value = find(layer.arguments, name);
    return value != nullptr && value->number() != nullptr && *value->number() == number;
  };
  return layer.op == "slice" && is("axis", 0) && is("begin", 0) && is("size", 1);
}

}  // namespace

bool follows_data_time(const Analysis& analysis, std::size_t layer) {
  const AnalysedLayer* at = &analysis.layers[layer];
  while (at->op != "input") {
    // A convolution looks at steps beyond the last one.
    const bool keeps = keeps_steps(at->op) || at->op == "conv1d";
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

std::vector<Fault> faults_of_buckets(const Analysis& analysis, const std::string& pointer) {
  std::vector<Fault> faults;
  for (std::size_t i = 0; i < analysis.layers.size(); ++i) {
    const AnalysedLayer& layer = analysis.layers[i];
    const auto follows = [&analysis](std::size_t at) { return follows_data_time(analysis, at); };
    if (std::ranges::none_of(layer.in, follows)) continue;
    const bool keeps = keeps_steps(layer.op) && follows(i);
    if (keeps || stops_at_length(layer) || is_first_step(layer)) continue;
    faults.push_back({pointer, "the layer \"" + layer.name + "\" (" + layer.op +
                                   ") sees the padding behind shorter examples, so what it gives "
                                   "would depend on the bucket; leave out \"buckets\""});
  }
  return faults;
}

}  // namespace trainyard::model
