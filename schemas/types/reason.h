// Why a job or a task is where it is: few states, many reasons.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

enum class Reason {
  none,
  // SCHED
  queued,       // waiting its turn
  no_capacity,  // nothing fits now
  no_agents,
  backing_off,    // waits before its next attempt
  queue_timeout,  // max_queued_seconds
  preempted,
  // USER
  exit_nonzero,
  signalled,
  bad_data,  // a data file is missing, truncated or of the wrong shape
  nan_loss,
  user_cancelled,
  user_suspended,
  user_resumed,
  // POLICY
  run_timeout,  // max_run_seconds
  no_progress,
  restarts_exhausted,
  // INFRA
  oom_killed,
  agent_lost,
  agent_restarted,
  start_failed,  // the process could not be started
  peer_lost,     // a task ended because another of its gang was gone
  checkpoint_lost,
  // normal course
  gang_placed,
  gang_running,
  completed,
  stopped_with_gang,  // ended because its gang was stopped
};

enum class ReasonClass { none, user, infra, sched, policy };

std::string_view name_of(Reason reason);             // "EXIT_NONZERO"; "" for none
std::string_view name_of(ReasonClass reason_class);  // "USER"; "" for none
ReasonClass class_of(Reason reason);

// Reason::none when the name is unknown.
Reason reason_from(std::string_view name);

}  // namespace trainyard
