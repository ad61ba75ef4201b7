// Gradients against finite differences: the loss is evaluated with every parameter moved a little
// up and down.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "runtime/core/counter_rng.h"
#include "runtime/graph/executor.h"
#include "runtime/math/ops/reduction.h"
#include "tests/runtime/graph/graph_builders.h"

namespace trainyard::runtime {

struct OwnedFeed {
  std::vector<float> features;
  std::vector<std::int32_t> labels;
  std::vector<float> targets;
  SparseRows sparse{};
  std::vector<std::int32_t> ids{};
  std::vector<std::int32_t> lengths{};
  std::vector<std::int32_t> token_labels{};
  std::vector<std::int32_t> symbols{};
  std::vector<std::int32_t> symbol_offsets{};

  [[nodiscard]] Feed feed(std::int64_t examples) const {
    return {.examples = examples,
            .features = features,
            .labels = labels,
            .targets = targets,
            .sparse = sparse.view(),
            .seed = 5,
            .first_position = 11,
            .ids = ids,
            .lengths = lengths,
            .token_labels = token_labels,
            .symbols = symbols,
            .symbol_offsets = symbol_offsets};
  }
};

inline std::vector<float> random_values(std::size_t count, std::uint64_t seed) {
  const CounterRng rng(seed, RngStream::synthetic);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(rng.normal(i)) * 0.7F;
  return values;
}

// The elements of a dense matrix at every third place, as rows of their own.
inline SparseRows every_third(std::span<const float> matrix, std::int64_t columns) {
  SparseRows rows{.offsets = {0}, .columns = {}, .values = {}};
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % columns;
    if (i % 3 == 1) {
      rows.columns.push_back(static_cast<std::int32_t>(column));
      rows.values.push_back(matrix[i]);
    }
    if (column == columns - 1) rows.offsets.push_back(std::ssize(rows.columns));
  }
  return rows;
}

inline OwnedFeed random_feed(std::int64_t examples, std::int64_t features,
                             std::int32_t classes = 3) {
  OwnedFeed owned{.features = random_values(static_cast<std::size_t>(examples * features), 1),
                  .labels = {},
                  .targets = random_values(static_cast<std::size_t>(examples), 2)};
  for (std::int64_t i = 0; i < examples; ++i)
    owned.labels.push_back(static_cast<std::int32_t>(i) % classes);
  owned.sparse = every_third(owned.features, features);
  return owned;
}

inline double loss_of(Executor& executor, NodeId loss, std::span<const float> parameters,
                      const Feed& feed) {
  executor.forward(parameters, feed, Pass::train);
  return sum_in_double(executor.value(loss).span());
}

// How the loss changes with one parameter.
inline double difference_of(Executor& executor, NodeId loss, std::span<float> parameters,
                            std::size_t at, const Feed& feed) {
  constexpr float step = 2e-2F;
  const float start = parameters[at];
  parameters[at] = start + step;
  const double above = loss_of(executor, loss, parameters, feed);
  parameters[at] = start - step;
  const double below = loss_of(executor, loss, parameters, feed);
  parameters[at] = start;
  return (above - below) / (2 * static_cast<double>(step));
}

// A batch's losses, then its gradients, by some threads who divide all that can be divided.
inline std::vector<float> computed_by(std::int64_t threads, const SmallGraph& small,
                                      std::span<const float> parameters, const Feed& feed) {
  ThreadTeam team({.threads = threads, .least_nanoseconds = 0});
  const PlanRequest request{
      .examples = 8, .loss = small.loss, .outputs = {small.loss}, .threads = threads};
  Executor executor(small.graph, request, cpu_kernels, team);
  executor.forward(parameters, feed, Pass::train);
  const auto losses = executor.value(small.loss).span();
  std::vector<float> computed(losses.begin(), losses.end());
  std::vector<float> gradients(parameters.size(), 99.0F);
  executor.backward(parameters, feed, gradients, {});
  computed.insert(computed.end(), gradients.begin(), gradients.end());
  return computed;
}

// Central differences: the error is of the order step^2 and rounding / step. Padding has no
// influence: 0 on both sides. Frozen variables have a gradient of 0; state has none that
// differences know.
inline void require_gradients_right(SmallGraph small, std::int64_t examples,
                                    const OwnedFeed& owned) {
  const NodeId loss = small.loss;
  auto parameters = random_values(static_cast<std::size_t>(small.graph.arena_elements()), 3);
  for (const Variable& variable : small.graph.variables()) {
    std::fill_n(parameters.begin() + variable.offset + variable.elements,
                round_up_to_alignment(variable.elements) - variable.elements, 0.0F);
  }
  const Feed feed = owned.feed(examples);
  const std::vector<float> alone = computed_by(1, small, parameters, feed);
  for (const std::int64_t threads : {2, 3, 7}) {
    INFO(threads << " threads");
    REQUIRE(computed_by(threads, small, parameters, feed) == alone);
  }
  Executor executor(std::move(small.graph), {.examples = 8, .loss = loss, .outputs = {loss}});
  std::vector<float> gradients(parameters.size(), 99.0F);
  executor.forward(parameters, feed, Pass::train);
  executor.backward(parameters, feed, gradients, {});
  std::vector<float> told_early(parameters.size(), 99.0F);
  executor.forward(parameters, feed, Pass::train);
  executor.backward(parameters, feed, told_early, {}, Executor::Parameters::stay);
  REQUIRE(told_early == gradients);

  for (const Variable& variable : executor.graph().variables()) {
    if (variable.update == UpdateRule::running_average) continue;
    for (std::int64_t i = 0; i < round_up_to_alignment(variable.elements); ++i) {
      const auto at = static_cast<std::size_t>(variable.offset + i);
      INFO(variable.name << " element " << i);
      const bool is_frozen = variable.update == UpdateRule::none;
      const double expected = is_frozen ? 0.0 : difference_of(executor, loss, parameters, at, feed);
      REQUIRE(static_cast<double>(gradients[at]) == Approx(expected).epsilon(0.01).margin(0.01));
    }
  }
}

// On features that are drawn.
inline void require_gradients_right(SmallGraph small, std::int64_t examples) {
  const auto features = small.graph.nodes()[0].shape.elements();
  const bool binary =
      std::holds_alternative<SigmoidCrossEntropyOp>(small.graph.nodes()[small.loss].op);
  const OwnedFeed owned = random_feed(examples, features, binary ? 2 : 3);
  require_gradients_right(std::move(small), examples, owned);
}

}  // namespace trainyard::runtime
