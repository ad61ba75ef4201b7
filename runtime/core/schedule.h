// The learning rate at a step: a linear rise over the warm-up, then constant, step or cosine.
#pragma once

#include <cstdint>

#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// `step` counts from 1 (the step about to be applied); max_steps is the job's last, where cosine
// ends. In the warm-up the rate is learning_rate * step / warmup_steps; the step after it is the
// first of the schedule.
double learning_rate_at(const OptimizerSpec& optimizer, std::int64_t step, std::int64_t max_steps);

// What a gradient that was due in the update of step `before`, 0 or more, is to be multiplied by to
// count for as much in that of `step`. An update by sgd, momentum or nesterov is the gradient times
// the learning rate: the rates' ratio. Those of the others do not depend on the gradient's scale,
// and the ratio would only make what was left over outweigh what is new: 1. So it is where a rate
// is 0, and nothing counts. (The factor of vanilla error feedback in BytePS.)
float residual_scale(const OptimizerSpec& optimizer, std::int64_t before, std::int64_t step,
                     std::int64_t max_steps);

}  // namespace trainyard::runtime
