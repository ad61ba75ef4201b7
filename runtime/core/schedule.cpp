#include "runtime/core/schedule.h"

#include <algorithm>

#include "runtime/core/portable_math.h"

namespace trainyard::runtime {
namespace {

// From 1 at the first step after the warm-up down to `final_fraction` at the last (Loshchilov and
// Hutter 2017).
double cosine_factor(double final_fraction, std::int64_t steps_done, std::int64_t steps) {
  if (steps <= 1) return 1.0;
  const double progress =
      std::min(1.0, static_cast<double>(steps_done) / static_cast<double>(steps - 1));
  return final_fraction + (1.0 - final_fraction) * 0.5 * (1.0 + cos_of_turns(progress * 0.5));
}

bool uses_velocity(OptimizerName name) {
  return name == OptimizerName::momentum || name == OptimizerName::nesterov;
}

}  // namespace

double learning_rate_at(const OptimizerSpec& optimizer, std::int64_t step, std::int64_t max_steps) {
  const ScheduleSpec& schedule = optimizer.schedule;
  if (step <= schedule.warmup_steps) {
    return optimizer.learning_rate * static_cast<double>(step) /
           static_cast<double>(schedule.warmup_steps);
  }
  const std::int64_t steps_done = step - schedule.warmup_steps - 1;
  switch (schedule.name) {
    case ScheduleName::constant: break;
    case ScheduleName::step: {
      const std::int64_t drops = steps_done / std::max<std::int64_t>(1, schedule.step_size);
      return optimizer.learning_rate * integer_power(schedule.gamma, drops);
    }
    case ScheduleName::cosine:
      return optimizer.learning_rate *
             cosine_factor(schedule.final_fraction, steps_done, max_steps - schedule.warmup_steps);
  }
  return optimizer.learning_rate;
}

float residual_scale(const OptimizerSpec& optimizer, std::int64_t before, std::int64_t step,
                     std::int64_t max_steps) {
  const bool linear = optimizer.name == OptimizerName::sgd || uses_velocity(optimizer.name);
  if (!linear || before < 1) return 1.0F;
  const double then = learning_rate_at(optimizer, before, max_steps);
  const double now = learning_rate_at(optimizer, step, max_steps);
  return then == 0.0 || now == 0.0 ? 1.0F : static_cast<float>(then / now);
}

}  // namespace trainyard::runtime
