// What the failure of a task means for its job: which failure came first, and whether it is tried
// again.
#pragma once

#include "scheduler/core/lifecycle.h"

namespace trainyard::scheduler {

struct Verdict {
  JobState goal = JobState::failed;  // queued or failed
  Cause cause;
};
Verdict verdict_on(const Job& job, const Cause& failure);

// A task ended and did not succeed. The attempt ends with it. While the attempt ends, a cause that
// explains more replaces PEER_LOST, which only says that another task was gone first.
void note_failure(Turn& turn, LiveJob& job, const LiveTask& task, const TaskEnd& end);

// A job that is about to be queued again: counts the restart on the account of its cause, or makes
// `failed` the goal when there is none left.
void count_restart(LiveJob& job);

}  // namespace trainyard::scheduler
