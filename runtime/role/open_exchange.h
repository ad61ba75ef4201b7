// How a task that computes gradients comes to the parameters.
#pragma once

#include <memory>

#include "runtime/role/job_plan.h"
#include "runtime/role/step_exchange.h"
#include "runtime/role/task.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// In its own process (`strategy: local`), or on those who hold shares, whom it calls from now on:
// the first next() waits for them. The error names the file that cannot be restored; task.cause has
// the reason.
//
// `who`: where the plan's model alone computes, its device may have the parameters.
enum class Computes { plan_model, several };
Result<std::unique_ptr<StepExchange>> open_exchange(const Task& task, JobPlan& plan, Computes who);

}  // namespace trainyard::runtime
