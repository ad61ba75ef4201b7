#include "scheduler/core/liveness.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "scheduler/core/failure.h"
#include "scheduler/core/gangs.h"
#include "scheduler/core/lifecycle.h"

namespace trainyard::scheduler {
namespace {

void enter(Turn& turn, LiveAgent& agent, AgentState state) {
  if (state == agent.record.state) return;
  agent.record.state = state;
  agent.record.state_since = turn.now.wall;
  turn.save(agent);
  if (state == AgentState::ready) welcome(turn, agent);
}

void mark_unknown(Turn& turn, LiveAgent& agent) {
  for (const TaskKey& key : agent.tasks) {
    LiveTask& task = *turn.state.task(key);
    if (task.row.agent_silent) continue;
    task.row.agent_silent = true;
    turn.save(task);
  }
}

// What it showed last is not what is so.
void forget_readings(LiveAgent& agent) { agent.readings.clear(); }

bool is_in_touch(const LiveAgent& agent) {
  return agent.record.state != AgentState::disconnected && agent.record.state != AgentState::down;
}

// Of one that is heard of and does not leave.
AgentState settled_state(const State& state, const LiveAgent& agent) {
  if (!agent.record.cordoned) return AgentState::ready;
  const auto is_stopped = [&state](const TaskKey& key) {
    return state.jobs.at(key.job).row.state == JobState::stopping;
  };
  const bool drains = !agent.tasks.empty() && std::ranges::all_of(agent.tasks, is_stopped);
  return drains ? AgentState::draining : AgentState::cordoned;
}

// Silence only makes it worse; better it gets by being heard.
void show_silence(Turn& turn, LiveAgent& agent, Millis silence) {
  const Limits& limits = turn.state.limits;
  const bool patient = limits.fences.patience == Fence::kept;
  if (silence >= (patient ? limits.lost_after : limits.silent_after)) {
    enter(turn, agent, AgentState::down);
    forget_readings(agent);
  } else if (silence >= limits.silent_after && is_in_touch(agent)) {
    enter(turn, agent, AgentState::disconnected);
    forget_readings(agent);
    mark_unknown(turn, agent);
  }
}

// All but those of `kept`.
void end_tasks(Turn& turn, LiveAgent& agent, const Cause& cause,
               const std::set<TaskKey>& kept = {}) {
  const std::set<TaskKey> tasks = agent.tasks;
  for (const TaskKey& key : tasks) {
    if (kept.contains(key)) continue;
    LiveJob& job = turn.state.jobs.at(key.job);
    LiveTask& task = *job.find(key);
    if (!is_terminal(task.row.state)) {
      end_task(turn, job, task, {TaskState::lost, {}, cause, "", {}});
    }
  }
}

// Where tasks are reached, and on which GPUs they compute. Those of older rows have no UUIDs.
bool is_same_place(const HostInfo& before, const HostInfo& after) {
  const auto is_same = [](const GpuInfo& one, const GpuInfo& other) {
    const bool are_known = !one.uuid.empty() && !other.uuid.empty();
    return one.index == other.index && (!are_known || one.uuid == other.uuid);
  };
  return before.address == after.address && before.first_port == after.first_port &&
         before.last_port == after.last_port && before.capacity.gpus == after.capacity.gpus &&
         std::ranges::equal(before.gpus, after.gpus, is_same);
}

// Whether what the agent's tasks have is among what the host offers now. CPUs and memory only
// count.
bool has_room_for_tasks(const State& state, const LiveAgent& agent, const HostInfo& host) {
  Resources used;
  for (const TaskKey& key : agent.tasks) {
    used = used + state.jobs.at(key.job).find(key)->row.resources;
  }
  return agent.tasks.empty() ||
         (is_same_place(agent.record.host, host) && fits(used, host.capacity));
}

// What the agent offers is to be given to tasks from now on.
void offer(Turn& turn, LiveAgent& agent, const HostInfo& host) {
  agent.record.host = host;
  const std::set<TaskKey> still_there = agent.tasks;
  clear_slots(agent);
  for (const TaskKey& key : still_there) {
    const LiveJob& job = turn.state.jobs.at(key.job);
    occupy_again(agent, job.row.spec, job.find(key)->row);
  }
  turn.save(agent);
  if (is_expected(agent)) welcome(turn, agent);
}

// Their jobs stop, and wait until they are shown to be gone: their processes live.
void end_in_old_slots(Turn& turn, LiveAgent& agent) {
  const Cause cause{
      Reason::agent_restarted,
      "agent " + agent.record.id.text + " started anew, with another address or other resources"};
  const std::set<TaskKey> tasks = agent.tasks;
  for (const TaskKey& key : tasks) {
    LiveJob& job = turn.state.jobs.at(key.job);
    if (job.row.state == JobState::stopping && !is_saving(job)) continue;
    note_failure(turn, job, *job.find(key), {TaskState::lost, {}, cause, "", {}});
    if (is_saving(job)) stop_saving(turn, job, cause.message);
  }
}

// In the time lines of their jobs, one line each.
void note_found(Turn& turn, const LiveAgent& agent) {
  std::map<JobId, std::string> names;
  for (const TaskKey& key : agent.tasks) {
    std::string& list = names[key.job];
    list += (list.empty() ? "" : ", ") + task_name(key);
  }
  for (const auto& [id, list] : names) {
    turn.note(turn.state.jobs.at(id), {.kind = "agent",
                                       .message = "agent " + agent.record.id.text +
                                                  " started anew, and goes on with " + list});
  }
}

void watch_agents(Turn& turn) {
  for (auto& [id, agent] : turn.state.agents) {
    const Millis silence = turn.now.steady - agent.heard_at;
    show_silence(turn, agent, silence);
    if (agent.record.state != AgentState::down || agent.tasks.empty()) continue;
    const std::string message =
        "agent " + id.text + " was silent for " + std::to_string(silence.count / 1000) + " s";
    end_tasks(turn, agent, {Reason::agent_lost, message});
  }
}

void give_up_on_progress(Turn& turn, LiveJob& job) {
  if (job.row.state != JobState::starting && job.row.state != JobState::running) return;
  const Millis patience = seconds(job.row.spec.run_policy.no_progress_timeout_seconds);
  const Time due = job.progress_at + patience;
  if (due > turn.now.steady) {  // armed once, moved only when it rings: progress is frequent
    turn.state.deadlines.arm({due, job.row.id, DeadlineKind::no_progress});
    return;
  }
  const std::string message = "no progress for " + std::to_string(patience.count / 1000) +
                              " s at step " + std::to_string(job.row.progress.step);
  const Verdict verdict = verdict_on(job.row, {Reason::no_progress, message});
  stop_job(turn, job, verdict.goal, verdict.cause);
}

// A job whose chief has finished succeeds, however long its last tasks take to go. Should it turn
// out that its last checkpoint is lost, it has run for too long all the same: it is looked at
// again.
void give_up_on_end(Turn& turn, LiveJob& job) {
  if (job.row.state == JobState::stopping && job.row.goal == JobState::succeeded) {
    turn.state.deadlines.arm(
        {turn.now.steady + seconds(1), job.row.id, DeadlineKind::ran_too_long});
    return;
  }
  stop_job(turn, job, JobState::failed, {Reason::run_timeout, "ran longer than max_run_seconds"});
}

void give_up_on_saving(Turn& turn, LiveJob& job) {
  if (!is_saving(job)) return;
  const std::int64_t limit = job.row.spec.run_policy.save_seconds;
  stop_saving(turn, job, "not saved within save_seconds (" + std::to_string(limit) + ")");
}

void ring(Turn& turn, LiveJob& job, DeadlineKind kind) {
  switch (kind) {
    case DeadlineKind::backoff_over: job.row.not_before = {}; return join_queue(turn, job);
    case DeadlineKind::queued_too_long:
      return stop_job(turn, job, JobState::failed,
                      {Reason::queue_timeout, "waited longer than max_queued_seconds"});
    case DeadlineKind::ran_too_long: return give_up_on_end(turn, job);
    case DeadlineKind::no_progress: return give_up_on_progress(turn, job);
    case DeadlineKind::saves_too_long: return give_up_on_saving(turn, job);
  }
}

}  // namespace

LiveAgent& meet(Turn& turn, const AgentReport& report) {
  const auto [entry, is_new] = turn.state.agents.try_emplace(report.agent);
  LiveAgent& agent = entry->second;
  if (!is_new) return agent;
  agent.record.id = report.agent;
  agent.record.registered_at = turn.now.wall;
  agent.record.state_since = turn.now.wall;
  agent.record.state = AgentState::down;  // until it is heard
  begin_epoch(turn, agent, report, {});
  return agent;
}

void begin_epoch(Turn& turn, LiveAgent& agent, const AgentReport& report,
                 const std::set<TaskKey>& found) {
  if (turn.state.limits.fences.epoch == Fence::kept) {
    const std::string message =
        "agent " + report.agent.text + " started anew, and has not found it again";
    end_tasks(turn, agent, {Reason::agent_restarted, message}, found);
  }
  agent.record.instance = report.instance;
  agent.record.epoch = report.epoch;
  agent.last_number = 0;
  if (has_room_for_tasks(turn.state, agent, report.host)) {
    note_found(turn, agent);
    return offer(turn, agent, report.host);
  }
  turn.save(agent);  // settle_in() takes the rest, when its tasks are gone
}

void settle_in(Turn& turn, LiveAgent& agent, const HostInfo& host) {
  const bool is_new =
      !is_same_place(agent.record.host, host) || agent.record.host.capacity != host.capacity;
  agent.has_old_slots = is_new && !has_room_for_tasks(turn.state, agent, host);
  if (agent.has_old_slots) return end_in_old_slots(turn, agent);
  if (is_new) offer(turn, agent, host);
}

void take_readings(Turn& turn, LiveAgent& agent, const std::vector<GpuReading>& readings) {
  // What is known of the host is of its start; a later report may say that it has other GPUs.
  std::set<int> slots;
  for (const GpuInfo& card : agent.cards) slots.insert(card.index);
  std::vector<GpuReading> newest;
  std::ranges::copy_if(readings, std::back_inserter(newest), [&slots](const GpuReading& reading) {
    return slots.contains(reading.index);
  });
  std::ranges::sort(newest, {}, &GpuReading::index);
  const bool differs = std::ranges::any_of(slots, [&](int slot) {
    return (stranger_on(agent.readings, slot) == nullptr) != (stranger_on(newest, slot) == nullptr);
  });
  agent.readings = std::move(newest);
  if (differs && is_expected(agent)) welcome(turn, agent);
}

void hear(Turn& turn, LiveAgent& agent, Intent intent) {
  agent.heard_at = turn.now.steady;
  if (!std::exchange(agent.heard, true)) turn.state.place_now = true;
  agent.leaves = intent == Intent::leave;
  if (agent.leaves) {
    if (agent.record.state != AgentState::down) enter(turn, agent, AgentState::draining);
    return;
  }
  enter(turn, agent, settled_state(turn.state, agent));
}

void say_farewell(Turn& turn, LiveAgent& agent) {
  if (!agent.tasks.empty()) return;
  enter(turn, agent, AgentState::down);
  forget_readings(agent);
}

void set_cordon(Turn& turn, LiveAgent& agent, bool cordoned) {
  if (agent.record.cordoned == cordoned) return;
  agent.record.cordoned = cordoned;
  turn.save(agent);
  settle(turn, agent);
}

void settle(Turn& turn, LiveAgent& agent) {
  if (!is_in_touch(agent) || agent.leaves) return;
  enter(turn, agent, settled_state(turn.state, agent));
}

void watch(Turn& turn) {
  watch_agents(turn);
  for (const Deadline& deadline : turn.state.deadlines.take_due(turn.now.steady)) {
    LiveJob* const job = turn.state.job(deadline.job);
    // An earlier one of the same tick may have ended the job.
    if (job != nullptr && !is_terminal(job->row.state)) ring(turn, *job, deadline.kind);
  }
}

}  // namespace trainyard::scheduler
