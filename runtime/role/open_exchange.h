// How a task that computes gradients comes to the parameters.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "runtime/role/job_plan.h"
#include "runtime/role/step_exchange.h"
#include "runtime/role/task.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

struct ExchangeSetting {
  // Models that compute with the parameters beside the plan's, on other GPUs.
  std::span<Model> others = {};
  std::string fingerprint = {};  // as in Hello
};
// In its own process (`strategy: local`), or on those who hold shares, whom it calls from now on:
// the first next() waits for them. The error names the file that cannot be restored; task.cause has
// the reason.
Result<std::unique_ptr<StepExchange>> open_exchange(const Task& task, JobPlan& plan,
                                                    const ExchangeSetting& setting);

}  // namespace trainyard::runtime
