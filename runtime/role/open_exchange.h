// How a task that computes gradients comes to the parameters.
#pragma once

#include <memory>
#include <string>

#include "runtime/role/job_plan.h"
#include "runtime/role/step_exchange.h"
#include "runtime/role/task.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// In its own process (`strategy: local`), or on those who hold shares, whom it calls from now on:
// the first next() waits for them. The error names the file that cannot be restored; task.cause has
// the reason.
struct Computes {
  enum class By { plan_model, several } by;  // the first alone: its device may have the parameters
  std::string on = {};                       // as Hello::device
};
Result<std::unique_ptr<StepExchange>> open_exchange(const Task& task, JobPlan& plan,
                                                    const Computes& what);

}  // namespace trainyard::runtime
