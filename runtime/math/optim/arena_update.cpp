#include "runtime/math/optim/arena_update.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t slots_max = 2;

// Plain IEEE operations, as those of the optimizers: vectorised and scalar parts agree.
void move_averages(float momentum, float scale, const UpdatedElements& elements) {
  const float* const sum = elements.gradient.data();
  const float* const before = elements.weights.data();
  float* const out = elements.out.data();
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements.out.size(); ++i) {
    out[i] = before[i] + momentum * (sum[i] * scale - before[i]);
  }
}

void keep(const UpdatedElements& elements) {
  if (elements.out.data() == elements.weights.data()) return;
  std::ranges::copy(elements.weights, elements.out.begin());
}

}  // namespace

ArenaUpdate::ArenaUpdate(std::span<const Variable> variables, DecayedVariables decayed) {
  for (const Variable& variable : variables) {
    const bool is_optimized = variable.update == UpdateRule::optimizer;
    const bool is_average = variable.update == UpdateRule::running_average;
    const bool is_matrix = variable.shape.size() >= 2;
    // What a rule does not read is the same in all runs of it, so that they are one.
    const Run run{.begin = variable.offset,
                  .rule = variable.update,
                  .decays = !is_optimized || decayed == DecayedVariables::all || is_matrix,
                  .momentum = is_average ? static_cast<float>(variable.momentum) : 0.0F};
    ENSURE(runs_.back().begin <= run.begin);
    if (run.begin == 0) runs_.clear();
    if (runs_.empty() || !runs_.back().is_as(run)) runs_.push_back(run);
  }
}

void ArenaUpdate::apply(const OptimizerConfig& optimizer, const UpdateStep& step,
                        std::int64_t begin, const UpdatedElements& elements) const {
  const std::int64_t end = begin + std::ssize(elements.out);
  const auto behind = std::ranges::upper_bound(runs_, begin, {}, &Run::begin);
  for (auto run = behind - 1; run != runs_.end() && run->begin < end; ++run) {
    const bool is_last = run + 1 == runs_.end();
    const std::int64_t first = std::max(begin, run->begin) - begin;
    const std::int64_t last = (is_last ? end : std::min(end, (run + 1)->begin)) - begin;
    const std::size_t at = index_of(first);
    const std::size_t count = index_of(last - first);
    std::array<std::span<float>, slots_max> slots;
    ENSURE(elements.slots.size() <= slots.size());
    for (std::size_t i = 0; i < elements.slots.size(); ++i) {
      slots[i] = elements.slots[i].subspan(at, count);
    }
    apply_run(*run, optimizer, step,
              {.gradient = elements.gradient.subspan(at, count),
               .weights = elements.weights.subspan(at, count),
               .out = elements.out.subspan(at, count),
               .slots = std::span(slots).first(elements.slots.size())});
  }
}

void ArenaUpdate::apply_run(const Run& run, const OptimizerConfig& optimizer,
                            const UpdateStep& step, const UpdatedElements& elements) {
  switch (run.rule) {
    case UpdateRule::running_average:
      return move_averages(run.momentum, step.average_scale, elements);
    case UpdateRule::none: return keep(elements);
    case UpdateRule::optimizer: break;
  }
  OptimizerConfig config = optimizer;
  if (!run.decays) config.weight_decay = 0;
  apply_update(config, step.learning_rate, step.number, step.gradient_scale, elements.gradient,
               elements.weights, elements.out, elements.slots);
}

}  // namespace trainyard::runtime
