// What the states of a job mean for its tasks, agents and place in the queue: the only functions
// that move a job from state to state.
#pragma once

#include <string>

#include "scheduler/core/place.h"
#include "scheduler/core/turn.h"

namespace trainyard::scheduler {

struct Cause {
  Reason reason = Reason::none;
  std::string message;
};

// A job that is `queued` begins to wait: for its backoff if there is one, then for room.
void enqueue(Turn& turn, LiveJob& job, Millis wait);
// The backoff is over (or there was none): into the queue.
void join_queue(Turn& turn, LiveJob& job);

// queued -> starting: the next attempt, every task with its agent, slots and port.
void start_gang(Turn& turn, LiveJob& job, const Placement& placement);

// starting -> running, if every task takes part by now.
void consider_running(Turn& turn, LiveJob& job);

// -> stopping, towards `goal`; the tasks are asked to stop. A job that stops already changes its
// goal only for one that outranks it: queued < suspended < succeeded < failed < cancelled.
void stop_job(Turn& turn, LiveJob& job, JobState goal, const Cause& cause);

// -> stopping towards `suspended`, at once where there is nothing to save. Else the chief saves
// first, and stop_saving() follows when its checkpoint is committed or run_policy.save_seconds are
// over. A goal of stop_job() that outranks `suspended` does not wait for that, nor does the end of
// a task.
void suspend_job(Turn& turn, LiveJob& job);

// -> stopping towards `queued`, because this agent, where it has tasks, is drained: saved first as
// by suspend_job(), and not counted as a restart. Nothing where it stops already.
void move_job(Turn& turn, LiveJob& job, const AgentId& drained);

// Whatever is saved by now: the tasks are asked to stop.
void stop_saving(Turn& turn, LiveJob& job, const std::string& how);

// What is left of max_run_seconds, counted from the first `running` since the job was suspended.
void arm_run_limit(Turn& turn, const LiveJob& job);

// The time left of `limit` that began at `since`, never more than all of it.
Millis left_of(Millis limit, WallTime since, WallTime now);

// suspended, or stopping towards it -> queued.
void resume_job(Turn& turn, LiveJob& job);

struct TaskEnd {
  TaskState state = TaskState::lost;
  ExitStatus exit;
  Cause cause;
  std::string log_tail;
  WallTime finished_at;
};
// A task is shown to be gone: its slots are free, and the job goes on to what that means for it.
void end_task(Turn& turn, LiveJob& job, LiveTask& task, const TaskEnd& end);

}  // namespace trainyard::scheduler
