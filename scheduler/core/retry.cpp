#include "scheduler/core/retry.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace trainyard::scheduler {

bool is_of_host(Reason cause) {
  constexpr Reason stays_so[] = {Reason::no_space, Reason::no_gpu, Reason::peer_differs};
  return std::ranges::find(stays_so, cause) != std::end(stays_so);
}

bool was_asked_for(Reason cause) {
  return cause == Reason::user_resumed || cause == Reason::agent_drained;
}

Account account_of(Reason cause) {
  if (is_of_host(cause)) return Account::user;
  return class_of(cause) == ReasonClass::infra ? Account::infra : Account::user;
}

bool is_final(const JobSpec& spec, Reason cause) {
  if (cause == Reason::bad_data || cause == Reason::checkpoint_mismatch) return true;
  const bool repeats_itself =
      spec.mode == Mode::sync && spec.training.deterministic && !has_backup_workers(spec);
  return cause == Reason::nan_loss && repeats_itself;
}

bool may_restart(const Job& job, Reason cause) {
  if (is_final(job.spec, cause)) return false;
  if (account_of(cause) == Account::infra) return job.restarts.infra < infra_restarts_max;
  return job.restarts.user < job.spec.run_policy.max_restarts;
}

Millis backoff(const BackoffSpec& spec, std::int64_t restarts) {
  const auto earlier = static_cast<double>(std::max<std::int64_t>(restarts - 1, 0));
  const double wait =
      static_cast<double>(spec.initial_seconds) * std::pow(spec.multiplier, earlier);
  const double longest = static_cast<double>(spec.max_seconds);
  return Millis{static_cast<std::int64_t>(std::min(wait, longest) * 1000.0)};
}

std::int64_t restarts_in_vain(const Job& job, std::int64_t saved) {
  std::int64_t useful = saved;  // attempt
  WallTime runs_since;
  for (const Transition& past : job.transitions) {
    if (past.to == JobState::running) runs_since = past.time;
    const bool ran_long = past.from == JobState::running && runs_since.is_set() &&
                          past.time - runs_since >= run_worth_counting;
    if (ran_long) useful = std::max(useful, past.attempt);
  }
  return std::ranges::count_if(job.transitions, [useful](const Transition& past) {
    return past.to == JobState::queued && past.from == JobState::stopping &&
           past.attempt >= useful && !was_asked_for(past.reason);
  });
}

}  // namespace trainyard::scheduler
