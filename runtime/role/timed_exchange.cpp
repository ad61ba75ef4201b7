#include "runtime/role/timed_exchange.h"

#include <utility>

#include "runtime/core/schedule.h"

namespace trainyard::runtime {

Result<std::optional<NextStep>> TimedExchange::next() {
  const auto start = StepTimes::Clock::now();
  auto next = exchange_.next();
  times_.wait += StepTimes::Clock::now() - start;
  if (!next.has_value() && task_.stop.stop_requested()) {
    return std::optional<NextStep>();
  }
  TRY_ASSIGN(const auto given, task_.cause.of(Reason::peer_lost, std::move(next)));
  return std::optional(given);
}

Status TimedExchange::await(std::size_t variable) {
  const Variable& needed = plan_.model.variables()[variable];
  if (needed.update == UpdateRule::running_average) return ok();
  return await_elements(needed.offset + needed.elements);
}

Status TimedExchange::await_state() {
  return plan_.state_begin == no_state ? ok() : await_elements(plan_.model.arena_elements());
}

Status TimedExchange::await_elements(std::int64_t end) {
  const auto start = StepTimes::Clock::now();
  Status there = exchange_.await_parameters(end);
  times_.pull += StepTimes::Clock::now() - start;
  return there;
}

Status TimedExchange::tell(std::int64_t step, const BatchSums& sums) {
  exchange_.tell_sums(step, sums);
  if (plan_.push == Wire::onebit) {
    exchange_.set_residual_scale(residual_scale(task_.context.spec.training.optimizer,
                                                residual_step_, step, plan_.max_steps));
    residual_step_ = step;
  }
  return chief_ == nullptr ? ok() : chief_->begin_snapshot(step);
}

void TimedExchange::settle(std::int64_t from) {
  const auto start = StepTimes::Clock::now();
  exchange_.settle(from);
  times_.push += StepTimes::Clock::now() - start;
}

Result<bool> TimedExchange::unless_stopped(Status done) {
  if (!done.has_value() && task_.stop.stop_requested()) return false;
  if (!done.has_value()) TRY(task_.cause.of(Reason::peer_lost, exchange_.state()));
  TRY(task_.cause.of(Reason::peer_lost, std::move(done)));
  return true;
}

}  // namespace trainyard::runtime
