#include "runtime/math/optim/arena_update.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "runtime/math/elements/squares.h"
#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t slots_max = 2;
constexpr std::int64_t line = squares_line;  // variables begin at such borders, and so do chunks

void move_averages(float momentum, float scale, const UpdatedElements& elements) {
  const float* const sum = elements.gradient.data();
  const float* const before = elements.weights.data();
  float* const out = elements.out.data();
#pragma GCC ivdep
  for (std::size_t i = 0; i < elements.out.size(); ++i) {
    float none = 0;
    out[i] = AverageRule{momentum}.next(sum[i] * scale, before[i], none, none);
  }
}

void keep(const UpdatedElements& elements) {
  if (elements.out.data() == elements.weights.data()) return;
  std::ranges::copy(elements.weights, elements.out.begin());
}

}  // namespace

float clip_factor(double squares, float scale, double clip_norm) {
  constexpr double epsilon = 1e-6;  // PyTorch's
  const double norm = std::sqrt(squares) * static_cast<double>(scale);
  if (norm <= clip_norm) return 1;
  return static_cast<float>(clip_norm / (norm + epsilon));
}

ArenaUpdate::ArenaUpdate(std::span<const Variable> variables, DecayedVariables decayed) {
  if (!variables.empty()) optimized_.clear();
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
    if (is_optimized) {
      optimized_.push_back({variable.offset, variable.offset + variable.elements});
    }
    if (run.begin == 0) runs_.clear();
    if (runs_.empty() || !runs_.back().is_as(run)) runs_.push_back(run);
  }
}

OptimizerConfig ArenaUpdate::config_of(const Run& run, const OptimizerConfig& optimizer) {
  OptimizerConfig config = optimizer;
  if (!run.decays) config.weight_decay = 0;
  return config;
}

template <class Visit>
void ArenaUpdate::for_each_run(std::int64_t begin, std::int64_t end, Visit visit) const {
  const auto behind = std::ranges::upper_bound(runs_, begin, {}, &Run::begin);
  for (auto run = behind - 1; run != runs_.end() && run->begin < end; ++run) {
    const bool is_last = run + 1 == runs_.end();
    visit(*run, std::max(begin, run->begin), is_last ? end : std::min(end, (run + 1)->begin));
  }
}

void ArenaUpdate::apply(const OptimizerConfig& optimizer, const UpdateStep& step,
                        std::int64_t begin, const UpdatedElements& elements) const {
  const std::int64_t end = begin + std::ssize(elements.out);
  for_each_run(begin, end, [&](const Run& run, std::int64_t first, std::int64_t last) {
    const std::size_t at = index_of(first - begin);
    const std::size_t count = index_of(last - first);
    std::array<std::span<float>, slots_max> slots;
    ENSURE(elements.slots.size() <= slots.size());
    for (std::size_t i = 0; i < elements.slots.size(); ++i) {
      slots[i] = elements.slots[i].subspan(at, count);
    }
    apply_run(run, optimizer, step,
              {.gradient = elements.gradient.subspan(at, count),
               .weights = elements.weights.subspan(at, count),
               .out = elements.out.subspan(at, count),
               .slots = std::span(slots).first(elements.slots.size())});
  });
}

void ArenaUpdate::for_each_changed(const OptimizerConfig& optimizer, const UpdateStep& step,
                                   std::int64_t begin, std::int64_t end,
                                   const std::function<void(const Changed&)>& visit) const {
  for_each_run(begin, end, [&](const Run& run, std::int64_t first, std::int64_t last) {
    if (run.rule == UpdateRule::none) return;
    if (run.rule == UpdateRule::running_average) {
      return visit({.begin = first,
                    .end = last,
                    .rule = AverageRule{run.momentum},
                    .gradient_scale = step.average_scale});
    }
    const OptimizerConfig config = config_of(run, optimizer);
    visit({.begin = first,
           .end = last,
           .rule = element_rule(config, step.learning_rate, step.number),
           .gradient_scale = step.gradient_scale,
           .weight_decay = added_decay(config)});
  });
}

void ArenaUpdate::for_each_optimized(
    std::int64_t begin, std::int64_t end,
    const std::function<void(std::int64_t first, std::int64_t last)>& visit) const {
  const auto ends_before = [begin](const Optimized& each) { return each.end <= begin; };
  for (auto each = std::ranges::partition_point(optimized_, ends_before);
       each != optimized_.end() && each->begin < end; ++each) {
    visit(std::max(begin, each->begin), std::min(end, each->end));
  }
}

void ArenaUpdate::add_squares(std::int64_t begin, std::span<const float> gradient,
                              ExactSum& squares) const {
  ENSURE(begin % line == 0);
  const auto add = [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t at = first; at < last; at += line) {
      squares.add(squares_of_line(gradient.data() + (at - begin), std::min(line, last - at)));
    }
  };
  for_each_optimized(begin, begin + std::ssize(gradient), add);
}

void ArenaUpdate::apply_run(const Run& run, const OptimizerConfig& optimizer,
                            const UpdateStep& step, const UpdatedElements& elements) {
  switch (run.rule) {
    case UpdateRule::running_average:
      return move_averages(run.momentum, step.average_scale, elements);
    case UpdateRule::none: return keep(elements);
    case UpdateRule::optimizer: break;
  }
  apply_update(config_of(run, optimizer), step.learning_rate, step.number, step.gradient_scale,
               elements.gradient, elements.weights, elements.out, elements.slots);
}

}  // namespace trainyard::runtime
