// No number that is none leaves a task.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/role/task.h"

namespace trainyard::runtime {

// `invalid`, recorded as NAN_LOSS, where the loss is no finite number.
Status check_loss(const Task& task, std::int64_t step, double loss_sum);
// The same of a gradient, where the wire is lossy: a sign would hide it, and a residual would keep
// it for ever.
Status check_gradient(const Task& task, std::int64_t step, std::span<const float> gradient);

}  // namespace trainyard::runtime
