// What ends a task: a number that is none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "runtime/role/task.h"

namespace trainyard::runtime {

// `invalid`, recorded as NAN_LOSS, where the loss is no finite number. `why` is asked then.
Status check_loss(const Task& task, std::int64_t step, double loss_sum,
                  const std::function<std::string()>& why);
// The same of a gradient: a row's, or one whose signs would hide it. `is_finite`: it has only
// finite numbers.
Status check_gradient(const Task& task, std::int64_t step, bool is_finite);

}  // namespace trainyard::runtime
