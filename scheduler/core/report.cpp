#include "scheduler/core/report.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "scheduler/core/lifecycle.h"
#include "scheduler/core/liveness.h"
#include "scheduler/core/run_events.h"

namespace trainyard::scheduler {
namespace {

Reason reason_of(const TaskAttempt& row, const TaskReport& report) {
  // What the task said of itself (FailureEvent, kept in the row) is closer to the cause than how it
  // ended.
  if (report.state == TaskState::succeeded) return Reason::completed;
  if (report.state == TaskState::killed && report.reason != Reason::none) {
    return row.reason == Reason::none || row.reason == Reason::peer_lost ? report.reason
                                                                         : row.reason;
  }
  if (row.reason != Reason::none) return row.reason;
  if (report.reason != Reason::none) return report.reason;
  return report.exit.signal ? Reason::signalled : Reason::exit_nonzero;
}

TaskEnd end_of(const TaskAttempt& row, const TaskReport& report) {
  const std::string& message = row.message.empty() ? report.message : row.message;
  return {report.state,
          report.exit,
          {reason_of(row, report), message},
          report.log_tail,
          report.finished_at};
}

// States only go forward: a task that was asked to stop does not become `running` again because its
// agent has not heard of it yet, and a report that was under way while the server restarted takes
// nothing back.
void advance(Turn& turn, LiveJob& job, LiveTask& task, const TaskReport& report) {
  TaskAttempt& row = task.row;
  // Who stops a task unasked, its lease being over, shows its end soon. Until then it is not one
  // that the server has asked to stop.
  const bool unasked = report.state == TaskState::stopping;
  const bool further = !unasked && report.state > row.state && !is_terminal(report.state);
  const bool has_new_process = report.pid != 0 && report.pid != row.pid;
  if (!further && !has_new_process && !row.agent_silent) return;
  if (further) row.state = report.state;
  if (has_new_process) {
    // Whoever was started again has to read its data first, as at its first start.
    if (row.pid != 0) note_progress(turn, job);
    row.pid = report.pid;
    row.started_at = report.started_at;
  }
  row.agent_silent = false;
  turn.save(task);
  turn.save(job);  // its roles are shown with it
}

// In a time that does not tell how much of it is right.
bool is_same_token(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  }
  return difference == 0;
}

// A process that a server of before has placed goes on with the token that it was given.
bool is_own(const LiveJob& job, const LiveTask& task, const TaskReport& report) {
  if (is_same_token(report.token, task.token)) return true;
  return job.row.token_seed != 0 &&
         is_same_token(report.token, token_of_before(job.row, job.row.attempt));
}

// False: a task that the server does not have here, or that has another token. Nothing of it
// counts, not even that it is there: else a task whose token the server no longer knows would never
// end.
bool take_task(Turn& turn, const LiveAgent& agent, const TaskReport& report) {
  LiveJob* const job = turn.state.job(report.key.job);
  LiveTask* const task = job == nullptr ? nullptr : job->find(report.key);
  if (task == nullptr || is_terminal(task->row.state)) return false;
  if (task->row.agent != agent.record.id || !is_own(*job, *task, report)) return false;

  take_run_events(turn, *job, *task, report);
  advance(turn, *job, *task, report);
  if (is_terminal(report.state)) {
    end_task(turn, *job, *task, end_of(task->row, report));
  } else {
    consider_running(turn, *job);
  }
  return true;
}

Cause why_missing(const LiveTask& task, bool has_foreign_token) {
  const bool asked = task.row.state == TaskState::stopping;
  const Reason reason = asked ? Reason::stopped_with_gang : Reason::agent_lost;
  if (has_foreign_token) {
    return {reason, "its agent shows it with a token that this server did not give it"};
  }
  return {reason, asked ? "stopped before it started" : "its agent no longer has it"};
}

// The agent's tasks that the report shows, each with its token. One start has none of another's
// unless it has the same work folder.
std::set<TaskKey> found_tasks(const State& state, const LiveAgent& agent,
                              const AgentReport& report) {
  std::set<TaskKey> found;
  if (report.instance != agent.record.instance) return found;
  for (const TaskReport& shown : report.tasks) {
    if (!agent.tasks.contains(shown.key)) continue;
    const LiveJob& job = state.jobs.at(shown.key.job);
    if (is_own(job, *job.find(shown.key), shown)) found.insert(shown.key);
  }
  return found;
}

// Tasks that should be here and are not: gone, but only if the agent has applied the assignment
// that placed them; else they have yet to reach it. A process of another token is a stray: its
// agent takes nothing new until it has ended it.
void miss_tasks(Turn& turn, LiveAgent& agent, const AgentReport& report,
                const std::set<TaskKey>& known) {
  const bool must_apply = turn.state.limits.fences.applied_generation == Fence::kept;
  const std::set<TaskKey> expected = agent.tasks;
  for (const TaskKey& key : expected) {
    LiveJob& job = turn.state.jobs.at(key.job);
    LiveTask* const task = job.find(key);
    if (known.contains(key) || is_terminal(task->row.state)) continue;
    // Who leaves starts nothing more, whatever was on its way.
    if (must_apply && !report.leaving && report.generation < task->generation) continue;
    const bool is_shown = std::ranges::count(report.tasks, key, &TaskReport::key) > 0;
    const Cause cause = why_missing(*task, is_shown);
    const bool asked = cause.reason == Reason::stopped_with_gang;
    end_task(turn, job, *task, {asked ? TaskState::killed : TaskState::lost, {}, cause, "", {}});
  }
}

void take_tasks(Turn& turn, LiveAgent& agent, const AgentReport& report) {
  bool strays = false;
  std::set<TaskKey> known;
  for (const TaskReport& task : report.tasks) {
    const bool is_known = take_task(turn, agent, task);
    if (is_known) known.insert(task.key);
    strays = strays || (!is_known && !is_terminal(task.state));
  }
  if (agent.has_strays && !strays) turn.state.place_now = true;
  agent.has_strays = strays;
  miss_tasks(turn, agent, report, known);
}

// Why the report's sender is not the agent that is known by this name; empty: it is.
std::string why_refused(const Turn& turn, const LiveAgent& agent, const AgentReport& report) {
  const Fences& fences = turn.state.limits.fences;
  const AgentRecord& known = agent.record;
  const bool is_other = !known.instance.empty() && report.instance != known.instance;
  if (is_other && fences.instance == Fence::kept && known.state != AgentState::down) {
    return "another agent has the name " + report.agent.text + " (address " + known.host.address +
           ", another work folder): give this one another --name, or wait until that one is down";
  }
  if (!is_other && fences.epoch == Fence::kept && report.epoch < known.epoch) {
    return "epoch " + std::to_string(report.epoch) + " of agent " + report.agent.text +
           " is over, the newest is " + std::to_string(known.epoch);
  }
  return {};
}

// Each agent that is known costs memory and a row until someone deletes it.
Status room_for(const State& state, const AgentId& agent) {
  const bool is_full = std::cmp_greater_equal(state.agents.size(), state.limits.agents_max);
  if (!is_full || state.agents.contains(agent)) return ok();
  return unavailable(
      "the server knows " + std::to_string(state.agents.size()) +
      " agents already, as many as it may (--agents-max): delete those that are down "
      "and gone for good");
}

}  // namespace

void take_report(Turn& turn, const AgentReport& report) {
  if (const Status room = room_for(turn.state, report.agent); !room) {
    return turn.refuse(report, room.error());
  }
  LiveAgent& agent = meet(turn, report);
  if (std::string why = why_refused(turn, agent, report); !why.empty()) {
    return turn.refuse(report, conflict(std::move(why)));
  }
  const Fences& fences = turn.state.limits.fences;
  const bool is_new_start =
      report.epoch != agent.record.epoch || report.instance != agent.record.instance;
  if (is_new_start) begin_epoch(turn, agent, report, found_tasks(turn.state, agent, report));
  if (fences.report_number == Fence::kept && report.number <= agent.last_number) return;
  agent.last_number = report.number;

  take_readings(turn, agent, report.gpus);
  hear(turn, agent, report.leaving ? Intent::leave : Intent::stay);
  if (report.generation > agent.record.generation) {
    // Ours is a younger memory than the agent's: an older copy of the state folder, or a new one.
    agent.record.generation = report.generation;
    turn.rewant(agent);
  }
  take_tasks(turn, agent, report);
  settle_in(turn, agent, report.host);
  if (report.leaving && shows_no_process(report)) say_farewell(turn, agent);
  turn.answer(agent);
}

}  // namespace trainyard::scheduler
