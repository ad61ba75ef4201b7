#include "tests/sim/database.h"

#include <variant>

#include "scheduler/core/checkpoints.h"

namespace trainyard::sim {

using namespace scheduler;

Status Database::probe() {
  if (refusals_left_ == 0) return ok();
  --refusals_left_;
  return unavailable("the disk is full");
}

Status Database::save(std::span<const Change> changes) {
  if (const Status may = probe(); !may) {
    journal_.say("save refused");
    return may;
  }
  for (const Change& change : changes) {
    std::visit([this](const auto& kind) { save(kind); }, change);
  }
  return ok();
}

void Database::check_transition(const Job& before, const Job& after) {
  const std::string name = "job " + after.id.text;
  if (is_terminal(before.state)) journal_.fault(name + " changed after it was terminal");
  if (after.version <= before.version) journal_.fault(name + " changed without a new version");
  if (after.attempt < before.attempt) journal_.fault(name + " went back to an older attempt");
  if (after.transitions.size() < before.transitions.size()) journal_.fault(name + " lost history");
  JobState state = before.state;
  for (std::size_t i = before.transitions.size(); i < after.transitions.size(); ++i) {
    if (after.transitions[i].from != state) journal_.fault(name + " skipped a state");
    state = after.transitions[i].to;
  }
  if (state != after.state) journal_.fault(name + " is in a state that no transition led to");
}

void Database::save(const SaveJob& change) {
  const Job& job = change.job;
  const auto [row, is_new] = jobs_.try_emplace(job.id, job);
  if (!is_new) {
    if (row->second.state != job.state) {
      journal_.say("job " + job.id.text + " " + std::to_string(job.attempt) + " " +
                   std::string(name_of(job.state)) + " " + std::string(name_of(job.reason)) + " " +
                   job.message);
    }
    check_transition(row->second, job);
    row->second = job;
  }
}

void Database::save(const RemoveJob& change) {
  const auto row = jobs_.find(change.job);
  if (row != jobs_.end() && !is_terminal(row->second.state)) {
    journal_.fault("job " + change.job.text + " was deleted alive");
  }
  jobs_.erase(change.job);
  partitions_.erase(change.job);
  std::erase_if(tasks_, [&](const auto& task) { return task.first.job == change.job; });
  std::erase_if(checkpoints_,
                [&](const auto& entry) { return std::get<JobId>(entry.first) == change.job; });
}

void Database::save(const SaveTask& change) {
  TaskAttempt& row = tasks_[change.task.key];
  const bool ended = is_terminal(row.state) && !row.agent.empty();
  if (ended && row.state != change.task.state) {
    journal_.fault("task " + to_string(row.key) + " changed after it was terminal");
  }
  const bool has_another = row.pid != 0 && change.task.pid != row.pid;
  const bool may_return =
      change.task.pid != 0 && returns_alone(jobs_.at(row.key.job).spec, row.key);
  if (has_another && !may_return) {
    journal_.fault("task " + to_string(row.key) + " forgot its process");
  }
  if (row.state != change.task.state) {
    journal_.say("task " + to_string(change.task.key) + " " +
                 std::string(name_of(change.task.state)) + " on " + change.task.agent.text);
  }
  row = change.task;
}

void Database::save(const SaveAgent& change) {
  AgentRecord& row = agents_[change.agent.id];
  if (row.state != change.agent.state) {
    journal_.say("agent " + change.agent.id.text + " " + std::string(name_of(change.agent.state)));
  }
  row = change.agent;
}

void Database::save(const RemoveAgent& change) { agents_.erase(change.agent); }

void Database::save(const AppendRunEvents& change) {
  for (const RunEvent& event : change.events) {
    const auto [last, is_first] = last_event_.try_emplace(change.task, -1);
    if (event.offset <= last->second) {
      journal_.fault("run event of " + to_string(change.task) + " stored twice");
    }
    last->second = event.offset;
  }
}

void Database::save(const RollBackMetrics&) {}

void Database::save(const SaveCheckpoint& change) {
  const Checkpoint& checkpoint = change.checkpoint;
  const auto key = std::tuple{checkpoint.job, checkpoint.step, checkpoint.attempt};
  if (checkpoint.state == CheckpointState::deleted) {
    checkpoints_.erase(key);
    return;
  }
  if (checkpoint.state == CheckpointState::committed) check_committed(checkpoint);
  checkpoints_.insert_or_assign(key, checkpoint);
}

void Database::check_committed(const Checkpoint& checkpoint) {
  bool whole = has_file(checkpoint.manifest.sha256);
  for (const ArtifactFile& shard : checkpoint.shards) whole = whole && has_file(shard.sha256);
  if (!whole) journal_.fault("checkpoint of " + checkpoint.job.text + " committed without a file");
  for (const auto& [key, other] : checkpoints_) {
    if (other.job != checkpoint.job || other.step != checkpoint.step) continue;
    if (other.state == CheckpointState::committed && other.attempt != checkpoint.attempt) {
      journal_.fault("job " + checkpoint.job.text + " has two checkpoints of step " +
                     std::to_string(checkpoint.step));
    }
  }
}

void Database::save(const SavePartition& change) {
  const auto job = jobs_.find(change.job);
  std::int64_t& attempt = partitions_[change.job];
  const bool is_of_it = job != jobs_.end() && change.attempt <= job->second.attempt;
  if (!is_of_it || change.attempt <= attempt) {
    journal_.fault("job " + change.job.text + " took the partition of attempt " +
                   std::to_string(change.attempt) + " after that of " + std::to_string(attempt));
  }
  attempt = change.attempt;
}

void Database::save(const AppendJobEvent&) {}

Saved Database::load() const {
  Saved saved;
  std::set<std::pair<JobId, std::int64_t>> sources;
  for (const auto& [id, job] : jobs_) {
    if (is_terminal(job.state)) continue;
    saved.jobs.push_back(job);
    if (const auto source = resume_source_of(job.spec)) sources.insert(*source);
  }
  const auto is_live = [this](const JobId& id) {
    const auto job = jobs_.find(id);
    return job != jobs_.end() && !is_terminal(job->second.state);
  };
  for (const auto& [key, task] : tasks_) {
    if (is_live(key.job) && jobs_.at(key.job).attempt == key.attempt) saved.tasks.push_back(task);
  }
  for (const auto& [id, agent] : agents_) saved.agents.push_back(agent);
  for (const auto& [key, checkpoint] : checkpoints_) {
    const bool is_source = checkpoint.state == CheckpointState::committed &&
                           sources.contains({checkpoint.job, checkpoint.step});
    if (is_live(checkpoint.job) || is_source) saved.checkpoints.push_back(checkpoint);
  }
  return saved;
}

bool Database::has_ended(const TaskKey& task) const {
  const auto row = tasks_.find(task);
  return row != tasks_.end() && is_terminal(row->second.state);
}

const Checkpoint* Database::newest_committed(const JobId& job, std::int64_t attempt) const {
  const Checkpoint* newest = nullptr;
  for (const auto& [key, checkpoint] : checkpoints_) {
    const bool counts = checkpoint.job == job && checkpoint.attempt < attempt &&
                        checkpoint.state == CheckpointState::committed;
    if (counts && (newest == nullptr || newest->step < checkpoint.step)) newest = &checkpoint;
  }
  return newest;
}

}  // namespace trainyard::sim
