#include "runtime/model/culprit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/graph/executor.h"
#include "runtime/math/finite.h"
#include "runtime/model/build.h"
#include "runtime/model/feed.h"

namespace trainyard::runtime {
namespace {

// "3 of 1,024 numbers of conv2d_0 are inf or nan"
std::string lost_numbers(std::span<const float> values) {
  const auto lost = std::ranges::count_if(values, [](float v) { return !std::isfinite(v); });
  const float first = *std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  return std::to_string(lost) + " of " + std::to_string(values.size()) + " numbers, the first " +
         (std::isnan(first) ? "nan"
          : first > 0       ? "inf"
                            : "-inf");
}

std::string magnitude(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(value));
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", static_cast<double>(largest));
  return text.data();
}

std::span<const float> of_variable(std::span<const float> arena, const Variable& variable) {
  return arena.subspan(static_cast<std::size_t>(variable.offset),
                       static_cast<std::size_t>(variable.elements));
}

std::optional<std::string> lost_parameters(const Graph& graph, std::span<const float> arena) {
  for (const Variable& variable : graph.variables()) {
    const auto values = of_variable(arena, variable);
    if (all_finite(values)) continue;
    return "parameters are none before it: " + variable.name + " (" + lost_numbers(values) +
           "), so an earlier update was too large";
  }
  return std::nullopt;
}

// Features, variables and sparse rows are in nobody's layer.
std::optional<std::string> lost_values(const Executor& executor,
                                       const std::vector<std::string>& layers) {
  const auto nodes = executor.graph().nodes();
  for (NodeId id = 0; id < nodes.size(); ++id) {
    const ConstTensor value = executor.value(id);
    if (value.data == nullptr || all_finite(value.span())) continue;
    std::string text =
        layers[id] + " is the first whose values are none (" + lost_numbers(value.span()) + ")";
    for (const NodeId input : nodes[id].inputs) {
      const ConstTensor read = executor.value(input);
      if (read.data == nullptr) continue;
      const auto* const variable = std::get_if<VariableOp>(&nodes[input].op);
      text += variable != nullptr ? "; of " + executor.graph().variables()[variable->index].name
                                  : "; of what it reads";
      text += " the largest magnitude is " + magnitude(read.span());
    }
    return text;
  }
  return std::nullopt;
}

}  // namespace

namespace {

// Of the bucket that the batch is of; none: its shape is no bucket's.
BuiltModel* of_batch(std::vector<BuiltModel>& built, const LostStep& step) {
  const std::vector<std::int64_t>& buckets = step.data.buckets;
  if (buckets.empty()) return &built.front();
  const std::int64_t length = std::ssize(step.batch.ids) / step.batch.examples;
  const auto found = std::ranges::find(buckets, length);
  return found == buckets.end() ? nullptr
                                : &built[static_cast<std::size_t>(buckets.end() - found) - 1];
}

std::string search(const LostStep& step) {
  auto plans = build_bucket_graphs(step.model, step.data);
  if (!plans) return "";
  BuiltModel* const built = of_batch(*plans, step);
  if (built == nullptr) return "";
  PlanRequest request{.examples = step.batch.examples, .loss = built->loss, .outputs = {}};
  const std::size_t nodes = built->builder.graph.nodes().size();
  for (NodeId id = 0; id < nodes; ++id) request.outputs.push_back(id);
  Executor executor(std::move(built->builder.graph), request);
  if (auto lost = lost_parameters(executor.graph(), step.parameters)) return *lost;

  const Feed feed = feed_of(step.batch, step.rows, step.seed);
  executor.forward(step.parameters, feed, Pass::train);
  if (auto lost = lost_values(executor, built->node_layers)) return *lost;

  AlignedBuffer gradients(step.parameters.size());
  std::string lost;
  executor.backward(step.parameters, feed, gradients.span(), [&](std::size_t index) {
    const Variable& variable = executor.graph().variables()[index];
    const auto gradient = of_variable(gradients.span(), variable);
    if (!lost.empty() || all_finite(gradient)) return;
    lost = "the gradient of " + variable.name + " is the first that is none (" +
           lost_numbers(gradient) + ")";
  });
  return lost;
}

}  // namespace

// The words are not worth a task's life.
std::string first_not_finite(const LostStep& step) try {
  return search(step);
} catch (const std::bad_alloc&) {
  return "";
}

}  // namespace trainyard::runtime
