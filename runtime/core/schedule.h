// The learning rate at a step: a linear rise over the warm-up, then constant, step or cosine.
#pragma once

#include <cstdint>

#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// `step` counts from 1 (the step about to be applied); max_steps is the job's last, where cosine
// ends. In the warm-up the rate is learning_rate * step / warmup_steps; the step after it is the
// first of the schedule.
double learning_rate_at(const OptimizerSpec& optimizer, std::int64_t step, std::int64_t max_steps);

}  // namespace trainyard::runtime
