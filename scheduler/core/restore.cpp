#include "scheduler/core/restore.h"

#include <algorithm>
#include <utility>

#include "scheduler/core/assign.h"
#include "scheduler/core/checkpoints.h"
#include "scheduler/core/lifecycle.h"
#include "scheduler/core/run_events.h"

namespace trainyard::scheduler {
namespace {

void restore_agents(State& state, std::vector<AgentRecord> records, Time now) {
  for (AgentRecord& record : records) {
    LiveAgent& agent = state.agents[record.id];
    agent.record = std::move(record);
    agent.heard_at = now;
    clear_slots(agent);
  }
}

void restore_tasks(State& state, std::vector<TaskAttempt> rows) {
  std::ranges::sort(rows, {}, &TaskAttempt::key);
  for (TaskAttempt& row : rows) {
    LiveJob* const job = state.job(row.key.job);
    LiveAgent* const agent = state.agent(row.agent);
    if (job == nullptr || row.key.attempt != job->row.attempt) continue;
    const bool gone = is_terminal(row.state);  // its agent may have been deleted since
    if (agent == nullptr && !gone) continue;
    if (!gone) occupy_again(*agent, job->row.spec, row);
    std::string token = state.tokens.task(row.key);
    job->tasks.push_back(
        {std::move(row), std::move(token), agent == nullptr ? 0 : agent->record.generation});
  }
}

void restore_checkpoints(State& state, std::vector<Checkpoint> checkpoints) {
  for (Checkpoint& checkpoint : checkpoints) {
    LiveJob* const job = state.job(checkpoint.job);
    const bool committed = checkpoint.state == CheckpointState::committed;
    const std::int64_t step = checkpoint.step;
    if (committed) state.resume_sources.insert_or_assign({checkpoint.job, step}, checkpoint);
    if (job == nullptr) continue;
    auto& of_job = committed ? job->committed : job->pending;
    of_job.insert_or_assign(step, std::move(checkpoint));
  }
  const auto found = state.resume_sources;
  for (const auto& [source, checkpoint] : found) release_resume_source(state, source);
}

void wake_waiting(Turn& turn, LiveJob& job) {
  Deadlines& deadlines = turn.state.deadlines;
  const Time start = turn.now.steady;
  if (const auto limit = job.row.spec.scheduling.max_queued_seconds) {
    const Millis left = left_of(seconds(*limit), job.row.queued_at, turn.now.wall);
    deadlines.arm({start + left, job.row.id, DeadlineKind::queued_too_long});
  }
  if (!job.row.not_before.is_set()) return join_queue(turn, job);
  const Millis longest = seconds(job.row.spec.run_policy.backoff.max_seconds);
  const Millis wait = std::clamp(job.row.not_before - turn.now.wall, Millis{0}, longest);
  deadlines.arm({start + wait, job.row.id, DeadlineKind::backoff_over});
}

void wake_job(Turn& turn, LiveJob& job) {
  const JobState state = job.row.state;
  if (state == JobState::suspended) return;
  if (state == JobState::queued) wake_waiting(turn, job);
  if (state == JobState::starting || state == JobState::running) note_progress(turn, job);
  if (is_saving(job)) {
    const Millis limit = seconds(job.row.spec.run_policy.save_seconds);
    const Millis left = left_of(limit, job.row.transitions.back().time, turn.now.wall);
    turn.state.deadlines.arm({turn.now.steady + left, job.row.id, DeadlineKind::saves_too_long});
  }
  const bool is_to_sleep = state == JobState::stopping && job.row.goal == JobState::suspended;
  if (!is_to_sleep) arm_run_limit(turn, job);
}

}  // namespace

State restore_state(Saved saved, const Limits& limits, TokenMaker tokens, Time now) {
  State state;
  state.limits = limits;
  state.tokens = std::move(tokens);
  restore_agents(state, std::move(saved.agents), now);
  for (Job& row : saved.jobs) {
    LiveJob& job = state.jobs[row.id];
    job.row = std::move(row);
    job.token = state.tokens.gang(job.row.id, job.row.attempt);
  }
  restore_tasks(state, std::move(saved.tasks));
  restore_checkpoints(state, std::move(saved.checkpoints));
  for (auto& [id, job] : state.jobs) {
    job.addresses = addresses_of(job.tasks);
    job.restore = checkpoint_to_resume(state, job);
  }
  return state;
}

void wake(Turn& turn) {
  if (std::exchange(turn.state.awake, true)) return;
  for (auto& [id, job] : turn.state.jobs) wake_job(turn, job);
}

}  // namespace trainyard::scheduler
