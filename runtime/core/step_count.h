// How many global steps a job has.
#pragma once

#include <algorithm>
#include <cstdint>

#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// Of epochs and max_steps the first reached ends the job. A sync step sees a batch of every leaf,
// an async step is one batch; what is left of the last epoch and fills no step is left out. With
// backup workers the batches that are dropped are of the epoch too. At least 1.
inline std::int64_t step_count(const JobSpec& spec, std::int64_t train_examples) {
  const TrainingSpec& training = spec.training;
  const std::int64_t batches = step_mode(spec) == Mode::sync ? step_leaves(spec) : 1;
  const std::int64_t per_step = leaf_examples(spec) * batches;

  std::int64_t steps = training.max_steps.value_or(INT64_MAX);
  if (training.epochs) steps = std::min(steps, *training.epochs * train_examples / per_step);
  return std::max<std::int64_t>(steps, 1);
}

}  // namespace trainyard::runtime
