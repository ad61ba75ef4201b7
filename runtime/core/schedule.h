// The learning rate at a step.
#pragma once

#include <cstdint>

#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// `step` counts from 1 (the step about to be applied); max_steps is the job's last (cosine ends there).
double learning_rate_at(const OptimizerSpec& optimizer, std::int64_t step, std::int64_t max_steps);

}  // namespace trainyard::runtime
