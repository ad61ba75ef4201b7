#include "scheduler/core/lifecycle.h"

#include <algorithm>
#include <array>
#include <utility>

#include "scheduler/core/assign.h"
#include "scheduler/core/checkpoints.h"
#include "scheduler/core/failure.h"
#include "scheduler/core/gangs.h"
#include "scheduler/core/job_machine.h"
#include "scheduler/core/obstacles.h"
#include "scheduler/core/retry.h"
#include "scheduler/core/run_events.h"
#include "schemas/base/check.h"
#include "schemas/types/task_context.h"

namespace trainyard::scheduler {
namespace {

// Restarts are bounded, a user's suspending and resuming is not: what the row keeps of them is.
constexpr std::size_t transitions_max = 1000;

void say_why(Turn& turn, LiveJob& job, const Cause& cause) {
  if (job.row.reason == cause.reason && job.row.message == cause.message) return;
  job.row.reason = cause.reason;
  job.row.message = cause.message;
  turn.save(job);
}

void move(Turn& turn, LiveJob& job, JobEvent event, const Cause& cause) {
  const auto to = next(job.row.state, event, job.row.goal);
  ENSURE(to.has_value());
  auto& past = job.row.transitions;
  if (past.size() == transitions_max) past.erase(past.begin());
  past.push_back({job.row.state, *to, cause.reason, cause.message, job.row.attempt, turn.now.wall});
  job.row.state = *to;
  job.row.reason = cause.reason;
  job.row.message = cause.message;
  turn.save(job);
  const std::string line = std::string(name_of(*to));
  turn.note(job, {"transition", cause.message.empty() ? line : line + ": " + cause.message, "",
                  cause.reason, *to});
}

void leave_queue(Turn& turn, LiveJob& job) {
  turn.state.queue.erase(job.row);
  turn.state.deadlines.disarm(job.row.id, DeadlineKind::backoff_over);
  turn.state.deadlines.disarm(job.row.id, DeadlineKind::queued_too_long);
  job.row.not_before = {};
}

LiveTask seated(Turn& turn, const LiveJob& job, const Seat& seat) {
  LiveAgent& agent = turn.state.agents.at(seat.agent);
  const auto groups = gang_of(job.row.spec);
  LiveTask task;
  task.row.key = {job.row.id, job.row.attempt, seat.role, seat.index};
  task.token = turn.state.tokens.task(task.row.key);
  task.row.agent = seat.agent;
  task.row.host = agent.record.host.address;
  task.row.resources = std::ranges::find(groups, seat.role, &TaskGroup::role)->each;
  task.row.gpus = seat.gpus;
  task.row.assigned_at = turn.now.wall;
  occupy(agent, job.row.spec, task.row, turn.now.steady);
  turn.rewant(agent);
  task.generation = agent.record.generation;
  turn.save(task);
  return task;
}

void ask_to_stop(Turn& turn, LiveJob& job) {
  const bool wait_for_agents = turn.state.limits.fences.shown_gone == Fence::kept;
  for (LiveTask& task : job.tasks) {
    if (is_terminal(task.row.state)) continue;
    LiveAgent& agent = turn.state.agents.at(task.row.agent);
    turn.rewant(agent);
    task.row.state = wait_for_agents ? TaskState::stopping : TaskState::killed;
    if (!wait_for_agents) vacate(agent, job.row.spec, task.row);
    turn.save(task);
  }
}

int rank(JobState goal) {
  constexpr std::array order{JobState::queued, JobState::suspended, JobState::succeeded,
                             JobState::failed, JobState::cancelled};
  return static_cast<int>(std::ranges::find(order, goal) - order.begin());
}

// The chief's exit decides, but only a committed checkpoint of what it had at the end is worth the
// name.
bool is_finished(const LiveJob& job) {
  const bool chief_done = std::ranges::any_of(job.tasks, [&job](const LiveTask& task) {
    return is_chief(job.row.spec, task.row.key) && task.row.state == TaskState::succeeded;
  });
  return chief_done && has_final_checkpoint(job);
}

// A job that resumes from a checkpoint of its last step makes none.
std::string how_it_finished(const LiveJob& job) {
  if (!job.restore || job.row.progress.step > job.restore->step) return "the chief has finished";
  return "the chief has finished: the checkpoint of step " + std::to_string(job.restore->step) +
         " that it began from left nothing to do";
}

// The last look at the goal, when all is known that will be known.
void settle_goal(Turn& turn, LiveJob& job) {
  JobState& goal = job.row.goal;
  if (rank(goal) < rank(JobState::succeeded) && is_finished(job)) {
    goal = JobState::succeeded;
    say_why(turn, job, {Reason::completed, "the chief had finished"});
  } else if (goal == JobState::succeeded && !is_finished(job)) {
    goal = JobState::queued;
    say_why(turn, job,
            {Reason::checkpoint_lost, "the chief finished, its last checkpoint is lost"});
  }
  const bool goes_on = goal == JobState::queued || goal == JobState::suspended;
  if (goes_on && has_lost_source(turn.state, job)) {
    goal = JobState::failed;
    say_why(turn, job, lost_source(job));
  }
  if (goal == JobState::queued && !was_asked_for(job.row.reason)) count_restart(job);
}

// stopping -> goal, once every agent has shown that the tasks are gone.
void consider_gone(Turn& turn, LiveJob& job) {
  if (job.row.state != JobState::stopping || !all_gone(job)) return;
  turn.state.deadlines.disarm(job.row.id, DeadlineKind::saves_too_long);
  settle_goal(turn, job);
  drop_pending(turn, job);
  if (is_terminal(job.row.goal)) job.row.finished_at = turn.now.wall;
  const bool asked_for = was_asked_for(job.row.reason);
  move(turn, job, JobEvent::gang_gone, {job.row.reason, job.row.message});
  turn.state.place_now = true;
  if (job.row.state == JobState::queued) {
    const std::int64_t saved = job.committed.empty() ? 0 : job.committed.rbegin()->second.attempt;
    enqueue(turn, job,
            asked_for ? Millis{0}
                      : backoff(job.row.spec.run_policy.backoff, restarts_in_vain(job.row, saved)));
  }
  job.row.goal = is_terminal(job.row.state) ? job.row.state : JobState::running;
}

}  // namespace

void enqueue(Turn& turn, LiveJob& job, Millis wait) {
  ENSURE(job.row.state == JobState::queued);
  const Time start = turn.now.steady;
  job.row.queued_at = turn.now.wall;
  if (const auto limit = job.row.spec.scheduling.max_queued_seconds) {
    turn.state.deadlines.arm({start + seconds(*limit), job.row.id, DeadlineKind::queued_too_long});
  }
  turn.save(job);
  if (wait.count == 0) return join_queue(turn, job);

  job.row.not_before = turn.now.wall + wait;
  job.row.reason = Reason::backing_off;
  turn.state.deadlines.arm({start + wait, job.row.id, DeadlineKind::backoff_over});
}

void join_queue(Turn& turn, LiveJob& job) {
  const auto& agents = turn.state.agents;
  const Queue::Standing standing = turn.state.queue.insert(job.row);
  if (standing == Queue::Standing::head) turn.state.place_now = true;
  const bool nobody =
      std::ranges::none_of(agents, [](const auto& entry) { return is_expected(entry.second); });
  if (nobody) {
    say_why(turn, job, {Reason::no_agents, "no agent is ready"});
  } else if (standing == Queue::Standing::parked) {
    const std::vector<Host> ready = empty_hosts(turn.state, Agents::expected);
    say_why(turn, job,
            {Reason::no_capacity, obstacles_in_words(job.row.spec, ready, Asked::ready)});
  } else {
    say_why(turn, job, {Reason::queued, "waits its turn"});
  }
}

namespace {

// When the present run began: the first `running` after the last resume.
WallTime run_since(const Job& job) {
  WallTime since;
  for (const Transition& past : job.transitions) {
    if (past.from == JobState::suspended) since = {};
    if (past.to == JobState::running && !since.is_set()) since = past.time;
  }
  return since;
}

// Only who trains has made steps. A gang that starts has none that are known of, or they are few.
bool has_steps_to_save(const LiveJob& job) {
  const std::int64_t begun_at = job.restore ? job.restore->step : 0;
  const bool made_some = job.row.state == JobState::starting && job.row.progress.step > begun_at;
  return job.row.spec.run_policy.save_seconds > 0 &&
         (job.row.state == JobState::running || made_some);
}

// How many workers a gang began with that is not whole.
std::string with_fewer(const LiveJob& job) {
  const auto workers = std::ranges::count(job.tasks, Role::worker,
                                          [](const LiveTask& task) { return task.row.key.role; });
  if (workers == job.row.spec.worker.replicas) return "";
  return " with " + std::to_string(workers) + " of " +
         std::to_string(job.row.spec.worker.replicas) + " workers";
}

}  // namespace

void start_gang(Turn& turn, LiveJob& job, const Placement& placement) {
  leave_queue(turn, job);
  ++job.row.attempt;
  job.token = turn.state.tokens.gang(job.row.id, job.row.attempt);
  job.restore = checkpoint_to_resume(turn.state, job);
  job.tasks.clear();
  for (const Seat& seat : placement) job.tasks.push_back(seated(turn, job, seat));
  job.addresses = addresses_of(job.tasks);
  job.row.progress = Progress{};
  job.row.progress.step = job.restore ? job.restore->step : 0;
  turn.add(RollBackMetrics{job.row.id, job.row.attempt, job.row.progress.step});
  note_progress(turn, job);
  move(turn, job, JobEvent::gang_placed,
       {Reason::gang_placed,
        "attempt " + std::to_string(job.row.attempt) + " is placed" + with_fewer(job)});
}

void consider_running(Turn& turn, LiveJob& job) {
  const auto takes_part = [](const LiveTask& task) { return task.row.state >= TaskState::running; };
  if (job.row.state != JobState::starting || !std::ranges::all_of(job.tasks, takes_part)) return;
  move(turn, job, JobEvent::all_running, {Reason::gang_running, "all tasks are running"});
  if (!job.row.started_at.is_set()) job.row.started_at = turn.now.wall;
  note_progress(turn, job);
  if (!turn.state.deadlines.armed(job.row.id, DeadlineKind::ran_too_long)) {
    arm_run_limit(turn, job);
  }
}

Millis left_of(Millis limit, WallTime since, WallTime now) {
  return std::clamp(limit - (now - since), Millis{0}, limit);
}

void arm_run_limit(Turn& turn, const LiveJob& job) {
  const auto limit = job.row.spec.run_policy.max_run_seconds;
  const WallTime since = run_since(job.row);
  if (!limit || !since.is_set()) return;
  const Millis left = left_of(seconds(*limit), since, turn.now.wall);
  turn.state.deadlines.arm({turn.now.steady + left, job.row.id, DeadlineKind::ran_too_long});
}

void stop_job(Turn& turn, LiveJob& job, JobState goal, const Cause& cause) {
  Deadlines& deadlines = turn.state.deadlines;
  if (goal == JobState::suspended) deadlines.disarm(job.row.id, DeadlineKind::ran_too_long);
  if (job.row.state == JobState::stopping) {
    if (rank(goal) <= rank(job.row.goal)) return;
    job.row.goal = goal;
    say_why(turn, job, cause);
    turn.save(job);
    const bool has_time = goal == JobState::suspended;
    if (is_saving(job) && !has_time) stop_saving(turn, job, "");
    return;
  }
  leave_queue(turn, job);
  deadlines.disarm(job.row.id, DeadlineKind::no_progress);
  job.row.goal = goal;
  move(turn, job, JobEvent::stop, cause);
  ask_to_stop(turn, job);
  consider_gone(turn, job);
}

namespace {

// Of a job that has steps to save.
void save_and_stop(Turn& turn, LiveJob& job, JobState goal, const Cause& saving) {
  Deadlines& deadlines = turn.state.deadlines;
  deadlines.disarm(job.row.id, DeadlineKind::no_progress);
  const Millis patience = seconds(job.row.spec.run_policy.save_seconds);
  deadlines.arm({turn.now.steady + patience, job.row.id, DeadlineKind::saves_too_long});
  job.row.goal = goal;
  move(turn, job, JobEvent::stop, saving);
  for (const LiveTask& task : job.tasks) {
    if (is_chief(job.row.spec, task.row.key)) turn.rewant(turn.state.agents.at(task.row.agent));
  }
}

}  // namespace

void suspend_job(Turn& turn, LiveJob& job) {
  const Cause saving{Reason::user_suspended, "saving before suspension"};
  const Cause cause = is_saving(job) ? saving : Cause{saving.reason, "suspended by the user"};
  if (!has_steps_to_save(job)) return stop_job(turn, job, JobState::suspended, cause);
  turn.state.deadlines.disarm(job.row.id, DeadlineKind::ran_too_long);
  save_and_stop(turn, job, JobState::suspended, saving);
}

void move_job(Turn& turn, LiveJob& job, const AgentId& drained) {
  if (job.row.state == JobState::stopping) return;
  const Cause cause{Reason::agent_drained, "agent " + drained.text + " is drained"};
  if (!has_steps_to_save(job)) return stop_job(turn, job, JobState::queued, cause);
  save_and_stop(turn, job, JobState::queued, cause);
}

void stop_saving(Turn& turn, LiveJob& job, const std::string& how) {
  turn.state.deadlines.disarm(job.row.id, DeadlineKind::saves_too_long);
  if (job.row.goal == JobState::suspended) {
    say_why(turn, job, {Reason::user_suspended, "suspended by the user, " + how});
  } else if (job.row.reason == Reason::agent_drained && !how.empty()) {
    say_why(turn, job, {Reason::agent_drained, job.row.message + ", " + how});
  }
  if (!how.empty()) turn.note(job, {"checkpoint", how + ": the gang is stopped"});
  ask_to_stop(turn, job);
  consider_gone(turn, job);
}

void resume_job(Turn& turn, LiveJob& job) {
  const Cause cause{Reason::user_resumed, "resumed by the user"};
  if (job.row.state == JobState::stopping) {
    job.row.goal = JobState::queued;
    say_why(turn, job, cause);
    turn.save(job);
    arm_run_limit(turn, job);  // it was never suspended
    return;
  }
  move(turn, job, JobEvent::resume, cause);
  enqueue(turn, job, Millis{0});
}

void end_task(Turn& turn, LiveJob& job, LiveTask& task, const TaskEnd& end) {
  LiveAgent& agent = turn.state.agents.at(task.row.agent);
  vacate(agent, job.row.spec, task.row);
  if (end.cause.reason == Reason::port_in_use) shun_ports(agent, task.row, turn.now.steady);
  turn.rewant(agent);
  turn.state.place_now = true;

  task.row.state = end.state;
  task.row.agent_silent = false;
  task.row.exit = end.exit;
  task.row.reason = end.cause.reason;
  task.row.message = end.cause.message;
  task.row.finished_at = end.finished_at.is_set() ? end.finished_at : turn.now.wall;
  turn.save(task);
  turn.save(job);  // its roles are shown with it

  if (end.state != TaskState::succeeded) {
    note_failure(turn, job, task, end);
    if (is_saving(job))
      stop_saving(turn, job, task_name(task.row.key) + " ended before it was saved");
  } else if (is_chief(job.row.spec, task.row.key)) {
    consider_running(turn, job);
    stop_job(turn, job, JobState::succeeded, {Reason::completed, how_it_finished(job)});
  } else {
    consider_running(turn, job);
  }
  consider_gone(turn, job);
}

}  // namespace trainyard::scheduler
