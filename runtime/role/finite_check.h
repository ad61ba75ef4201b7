// No number that is none leaves a task.
#pragma once

#include <cstdint>

#include "runtime/role/task.h"

namespace trainyard::runtime {

// `invalid`, recorded as NAN_LOSS, where the loss is no finite number.
Status check_loss(const Task& task, std::int64_t step, double loss_sum);
// The same of a gradient.
Status check_gradient(const Task& task, std::int64_t step, bool is_finite);

}  // namespace trainyard::runtime
