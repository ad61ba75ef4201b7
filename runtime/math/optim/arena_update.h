// How a step changes the flat arena, range by range: most of it by the optimizer, with weight decay
// or without, running averages by what stands in their gradient's place, and frozen variables not
// at all.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "runtime/core/exact_sum.h"
#include "runtime/core/variable.h"
#include "runtime/math/optim/optimizer.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

struct UpdateStep {
  double learning_rate = 0;
  std::int64_t number = 1;   // counts from 1
  float gradient_scale = 1;  // the mean's factor
  float average_scale = 1;   // of what stands there for running averages: of examples always
};

// What a gradient is multiplied by so that the norm of its mean is `clip_norm` at most (R. Pascanu
// et al., On the difficulty of training recurrent neural networks, 2013), as PyTorch's
// clip_grad_norm_ does. `squares` are those of the sum that `scale` makes the mean.
float clip_factor(double squares, float scale, double clip_norm);

// Of elements of the arena that lie one after another, all of one length; `out` may be `weights`
// itself.
struct UpdatedElements {
  std::span<const float> gradient;
  std::span<const float> weights;
  std::span<float> out;
  std::span<const std::span<float>> slots;  // as apply_update() has them
};

class ArenaUpdate {
 public:
  // All of it by the optimizer, with its decay.
  ArenaUpdate() = default;
  // Of variables in the order of the arena. Padding changes as the variable before it.
  ArenaUpdate(std::span<const Variable> variables, DecayedVariables decayed);

  // Of the elements from `begin` of the arena on. Elementwise, as apply_update() is: a result never
  // depends on how the arena is cut. Slots of what the optimizer does not update stay as they are.
  void apply(const OptimizerConfig& optimizer, const UpdateStep& step, std::int64_t begin,
             const UpdatedElements& elements) const;

  // Visits what apply() does, in parts of one rule each, from `begin` of the arena to `end`: for
  // who has the numbers elsewhere. What is frozen is left out.
  struct Changed {
    std::int64_t begin = 0;  // of the arena
    std::int64_t end = 0;
    ElementRule rule;
    float gradient_scale = 1;
    float weight_decay = 0;
  };
  void for_each_changed(const OptimizerConfig& optimizer, const UpdateStep& step,
                        std::int64_t begin, std::int64_t end,
                        const std::function<void(const Changed&)>& visit) const;

  // visit(first, last) for the ranges in [begin, end) that the optimizer updates, padding left out.
  void for_each_optimized(
      std::int64_t begin, std::int64_t end,
      const std::function<void(std::int64_t first, std::int64_t last)>& visit) const;

  // Adds the squares of those elements that the optimizer updates, of a gradient from `begin` of
  // the arena on, a cache line's border. Exact in the sum of lines of 16 elements: a result never
  // depends on how the arena is cut between lines.
  void add_squares(std::int64_t begin, std::span<const float> gradient, ExactSum& squares) const;

 private:
  // Up to the next one's.
  struct Run {
    std::int64_t begin = 0;
    UpdateRule rule = UpdateRule::optimizer;
    bool decays = true;
    float momentum = 0;
    [[nodiscard]] bool is_as(const Run& other) const {
      return rule == other.rule && decays == other.decays && momentum == other.momentum;
    }
  };
  // visit(run, first, last): those that [begin, end) has part in, and which part.
  template <class Visit>
  void for_each_run(std::int64_t begin, std::int64_t end, Visit visit) const;
  static OptimizerConfig config_of(const Run& run, const OptimizerConfig& optimizer);
  static void apply_run(const Run& run, const OptimizerConfig& optimizer, const UpdateStep& step,
                        const UpdatedElements& elements);

  // What the optimizer updates, without padding, in which a lossy wire may have left numbers.
  struct Optimized {
    std::int64_t begin = 0;
    std::int64_t end = std::numeric_limits<std::int64_t>::max();
  };

  std::vector<Optimized> optimized_ = {Optimized{}};  // ascending
  std::vector<Run> runs_ = {Run{}};  // ascending, the first from 0; neighbours differ
};

}  // namespace trainyard::runtime
