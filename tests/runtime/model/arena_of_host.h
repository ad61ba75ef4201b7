// Weights and optimizer slots of the host, beside which those on devices are held.
#pragma once

#include <catch2/catch.hpp>
#include <vector>

#include "runtime/math/optim/arena_update.h"
#include "tests/runtime/model/replica_scene.h"

namespace trainyard::runtime::replica_scene {

// Weights and slots of the host, and how they change.
struct Arena {
  Arena(const Model& model, const OptimizerConfig& by)
      : optimizer(by),
        rules(model.variables(), DecayedVariables::matrices),
        weights(static_cast<std::size_t>(model.arena_elements())),
        gradient(weights.size()) {
    model.initialize(3, weights.span());
    for (std::size_t i = 0; i < slot_names(by.kind).size(); ++i) slots.emplace_back(weights.size());
  }

  [[nodiscard]] static UpdateStep step(std::int64_t number) {
    return {.learning_rate = 0.05,
            .number = number,
            .gradient_scale = 1.0F / batch_examples,
            .average_scale = 1.0F / batch_examples};
  }

  void update(std::int64_t number) {
    std::vector<std::span<float>> spans;
    for (AlignedBuffer& slot : slots) spans.push_back(slot.span());
    rules.apply(optimizer, step(number), 0,
                {.gradient = gradient.span(),
                 .weights = weights.span(),
                 .out = weights.span(),
                 .slots = spans});
  }

  OptimizerConfig optimizer;
  ArenaUpdate rules;
  AlignedBuffer weights;
  AlignedBuffer gradient;
  std::vector<AlignedBuffer> slots;
};

inline void require_same(const Arena& a, const Arena& b) {
  REQUIRE(same_bytes(a.weights.span(), b.weights.span()));
  for (std::size_t i = 0; i < a.slots.size(); ++i) {
    INFO("slot " << i);
    REQUIRE(same_bytes(a.slots[i].span(), b.slots[i].span()));
  }
}

inline OptimizerConfig decaying(OptimizerKind kind) {
  return {.kind = kind, .weight_decay = 0.01F};
}

}  // namespace trainyard::runtime::replica_scene
