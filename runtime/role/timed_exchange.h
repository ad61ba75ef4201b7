// What the steps of a worker ask of its exchange, and how long each of it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "runtime/core/batch_sums.h"
#include "runtime/role/chief.h"
#include "runtime/role/job_plan.h"
#include "runtime/role/step_exchange.h"
#include "runtime/role/step_times.h"
#include "runtime/role/task.h"

namespace trainyard::runtime {

class TimedExchange {
 public:
  TimedExchange(const Task& task, const JobPlan& plan, StepExchange& exchange)
      : task_(task), plan_(plan), exchange_(exchange) {}

  [[nodiscard]] StepExchange& exchange() const { return exchange_; }
  [[nodiscard]] StepTimes& times() { return times_; }
  void set_chief(Chief& chief) { chief_ = &chief; }
  // Onebit: that the residuals were left over from.
  void set_residual_step(std::int64_t step) { residual_step_ = step; }

  // Nothing when asked to stop.
  Result<std::optional<NextStep>> next();

  // Until the parameters of this variable are there. A forward pass reads no state, which lies
  // behind all others.
  Status await(std::size_t variable);
  // Then the last step's sums of it were read, and a backward pass may write there.
  Status await_state();

  // Once in a step, before anything of it is settled: what the batch was, and, of the chief, which
  // checkpoint the step is for. As late as it can be: the one before may still be written.
  Status tell(std::int64_t step, const BatchSums& sums);

  void settle(std::int64_t from);

  // False: it failed because the task was asked to stop.
  Result<bool> unless_stopped(Status done);

 private:
  Status await_elements(std::int64_t end);

  const Task& task_;
  const JobPlan& plan_;
  StepExchange& exchange_;
  Chief* chief_ = nullptr;  // none: this task is not it
  StepTimes times_;
  std::int64_t residual_step_ = 0;
};

}  // namespace trainyard::runtime
