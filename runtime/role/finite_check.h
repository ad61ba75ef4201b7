// No number that is none leaves a task.
#pragma once

#include "runtime/net/params_channel.h"
#include "runtime/role/task.h"

namespace trainyard::runtime {

// `invalid`, recorded as NAN_LOSS, where the loss is no finite number, or with a lossy wire the
// gradient: a sign or a rounded number would hide it, and a residual would keep it for ever.
Status check_finite(const Task& task, const Contribution& contribution);

}  // namespace trainyard::runtime
