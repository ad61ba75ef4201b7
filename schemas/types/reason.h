// Why a job or a task is where it is: few states, many reasons.
#pragma once

#include <string>
#include <string_view>

namespace trainyard {

// Grouped by class (class_of).
enum class Reason {
  none,
  // SCHED
  queued,       // waiting its turn
  no_capacity,  // nothing fits now
  no_agents,
  backing_off,  // waits before its next attempt
  preempted,
  gang_placed,
  gang_running,
  // USER
  exit_nonzero,
  bad_data,             // a data file is missing, truncated or of the wrong shape
  checkpoint_mismatch,  // resume_from names one of another model or optimizer
  nan_loss,
  oom_killed,  // its own memory: it asked for too little
  user_cancelled,
  user_suspended,
  user_resumed,
  agent_drained,  // where it had a task: the gang begins again, elsewhere
  // POLICY
  queue_timeout,  // max_queued_seconds
  run_timeout,    // max_run_seconds
  no_progress,
  restarts_exhausted,
  // INFRA
  signalled,
  agent_lost,
  agent_restarted,
  agent_stopped,  // it was asked to end (SIGTERM), and ended its tasks
  start_failed,   // the process could not be started
  peer_lost,      // a task ended because another of its gang was gone
  checkpoint_lost,
  checkpoint_failed,  // a task could not write it: its disk, not a peer
  port_in_use,        // another program held a port that the task was given
  no_space,           // a disk is full: class INFRA, but as often as a user's restarts
  no_gpu,             // a host cannot compute on the GPUs that a task was given: as no_space
  peer_differs,       // it computes on another kind of GPU than others of its gang: likewise
  // of no class: the normal course
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
