#include "scheduler/core/checkpoints.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "scheduler/core/lifecycle.h"
#include "schemas/types/retention.h"

namespace trainyard::scheduler {
namespace {

// Files that a gang writes between two manifests: far fewer. What is forgotten is found again by
// the caller when the pending checkpoint is saved (ArtifactStored, events.h).
constexpr std::size_t stored_files_max = 4096;
// Checkpoints whose files are still on their way: far fewer.
constexpr std::size_t pending_max = 64;

template <class Visit>
void for_each_file(const Checkpoint& checkpoint, Visit visit) {
  visit(checkpoint.manifest);
  for (const ArtifactFile& shard : checkpoint.shards) visit(shard);
}

bool names(const Checkpoint& checkpoint, const std::string& sha256) {
  bool found = false;
  for_each_file(checkpoint, [&](const ArtifactFile& file) { found |= file.sha256 == sha256; });
  return found;
}

bool is_stored(const LiveJob& job, const std::string& sha256) {
  if (std::ranges::find(job.stored, sha256) != job.stored.end()) return true;
  return std::ranges::any_of(job.committed,
                             [&](const auto& entry) { return names(entry.second, sha256); });
}

bool is_whole(const LiveJob& job, const Checkpoint& checkpoint) {
  bool whole = true;
  for_each_file(checkpoint,
                [&](const ArtifactFile& file) { whole = whole && is_stored(job, file.sha256); });
  return whole;
}

std::vector<Ranked> ranked(const LiveJob& job) {
  std::vector<Ranked> all;
  for (const auto& [step, checkpoint] : job.committed) {
    all.push_back(ranked_by(job.row.spec.checkpoint.metric, step, checkpoint.metrics));
  }
  return all;
}

bool is_needed(const State& state, const LiveJob& job, std::int64_t step) {
  if (state.resume_sources.contains({job.row.id, step})) return true;
  const bool gang_may_still_fetch = job.row.state == JobState::starting;
  return gang_may_still_fetch && job.restore && job.restore->step == step;
}

void give_up(Turn& turn, Checkpoint checkpoint) {
  checkpoint.state = CheckpointState::deleted;
  turn.add(SaveCheckpoint{std::move(checkpoint)});
}

void retain(Turn& turn, LiveJob& job) {
  const auto keep = steps_to_keep(retention_of(job.row.spec.checkpoint), ranked(job));
  std::erase_if(job.committed, [&](auto& entry) {
    const bool stays = std::ranges::binary_search(keep, entry.first);
    if (stays || is_needed(turn.state, job, entry.first)) return false;
    give_up(turn, std::move(entry.second));
    return true;
  });
}

// An earlier attempt may have committed the step too: of one step there is one checkpoint, the
// newest.
void replace_older(Turn& turn, LiveJob& job, const Checkpoint& by) {
  const auto older = job.committed.find(by.step);
  if (older == job.committed.end()) return;
  if (older->second.attempt != by.attempt) give_up(turn, std::move(older->second));
  job.committed.erase(older);
  const auto source = turn.state.resume_sources.find({by.job, by.step});
  if (source != turn.state.resume_sources.end()) source->second = by;
}

void commit(Turn& turn, LiveJob& job, Checkpoint checkpoint) {
  const std::int64_t step = checkpoint.step;
  const bool is_last = checkpoint.final_one && checkpoint.attempt == job.row.attempt;
  checkpoint.state = CheckpointState::committed;
  replace_older(turn, job, checkpoint);
  for_each_file(checkpoint,
                [&job](const ArtifactFile& file) { std::erase(job.stored, file.sha256); });
  turn.add(SaveCheckpoint{checkpoint});
  const std::string line = "checkpoint of step " + std::to_string(step) + " is committed";
  turn.note(job, {"checkpoint", line});
  job.committed.insert_or_assign(step, std::move(checkpoint));
  job.row.latest_checkpoint = job.committed.rbegin()->first;
  turn.save(job);
  retain(turn, job);
  // The last of an attempt whose training is over needs no stop: the gang is about to end.
  const Progress& progress = job.row.progress;
  const bool is_over = progress.max_steps > 0 && step >= progress.max_steps;
  if (is_last && !is_over && is_saving(job)) {
    stop_saving(turn, job, "saved at step " + std::to_string(step));
  }
}

bool is_refused(const LiveJob& job, std::int64_t step) {
  if (step < 0) return true;
  const auto newer = job.committed.lower_bound(step);
  return newer != job.committed.end() &&
         (newer->first > step || newer->second.attempt > job.row.attempt);
}

void lose_own(Turn& turn, LiveJob& job, const std::string& sha256) {
  std::erase(job.stored, sha256);
  const auto lost = std::erase_if(job.committed, [&](auto& entry) {
    if (!names(entry.second, sha256)) return false;
    turn.note(job, {"checkpoint", "checkpoint of step " + std::to_string(entry.first) +
                                      " is given up: a file of it is lost or damaged"});
    give_up(turn, std::move(entry.second));
    return true;
  });
  if (lost == 0) return;
  job.row.latest_checkpoint.reset();
  if (!job.committed.empty()) job.row.latest_checkpoint = job.committed.rbegin()->first;
  turn.save(job);
}

// A gang that trains has read its files and goes on; what becomes of one that starts or stops is
// looked at when it is gone.
void fail_without_source(Turn& turn) {
  for (auto& [id, job] : turn.state.jobs) {
    const bool waits = job.row.state == JobState::queued || job.row.state == JobState::suspended;
    if (waits && has_lost_source(turn.state, job)) {
      stop_job(turn, job, JobState::failed, lost_source(job));
    }
  }
}

}  // namespace

void take_manifest(Turn& turn, LiveJob& job, const ManifestEvent& manifest) {
  if (is_refused(job, manifest.step)) return;
  Checkpoint checkpoint{
      job.row.id,        manifest.step,   job.row.attempt,  CheckpointState::pending,
      manifest.manifest, manifest.shards, manifest.metrics, manifest.final_one,
      turn.now.wall};
  if (manifest.vocabulary) checkpoint.shards.push_back(*manifest.vocabulary);
  if (is_whole(job, checkpoint)) {
    job.pending.erase(checkpoint.step);
    return commit(turn, job, std::move(checkpoint));
  }
  // A committed one of the same step, of an earlier attempt, stays until this one is whole.
  turn.add(SaveCheckpoint{checkpoint});
  job.pending.insert_or_assign(manifest.step, std::move(checkpoint));
  if (job.pending.size() <= pending_max) return;
  // Files come in the order of the steps: the oldest is the next to be whole. The newest is worth
  // the most.
  const auto given_up = std::prev(job.pending.end(), 2);
  give_up(turn, std::move(given_up->second));
  job.pending.erase(given_up);
}

void take_artifact(Turn& turn, const ArtifactStored& file) {
  LiveJob* const job = turn.state.job(file.job);
  if (job == nullptr || std::ranges::find(job->stored, file.sha256) != job->stored.end()) return;
  job->stored.push_back(file.sha256);
  if (job->stored.size() > stored_files_max) job->stored.pop_front();

  std::vector<Checkpoint> whole;
  for (const auto& [step, checkpoint] : job->pending) {
    if (is_whole(*job, checkpoint)) whole.push_back(checkpoint);
  }
  for (Checkpoint& checkpoint : whole) {
    job->pending.erase(checkpoint.step);
    commit(turn, *job, std::move(checkpoint));
  }
}

void lose_artifact(Turn& turn, const ArtifactLost& file) {
  LiveJob* const job = turn.state.job(file.job);
  if (job != nullptr) lose_own(turn, *job, file.sha256);
  const auto lost = std::erase_if(turn.state.resume_sources, [&](auto& entry) {
    if (entry.first.first != file.job || !names(entry.second, file.sha256)) return false;
    if (job == nullptr) give_up(turn, std::move(entry.second));  // else it is given up above
    return true;
  });
  if (lost > 0) fail_without_source(turn);
}

std::optional<std::pair<JobId, std::int64_t>> resume_source_of(const JobSpec& spec) {
  const std::string& from = spec.checkpoint.resume_from;
  const std::size_t slash = from.rfind('/');
  if (slash == std::string::npos) return std::nullopt;
  std::int64_t step = 0;
  const char* const end = from.data() + from.size();
  const auto parsed = std::from_chars(from.data() + slash + 1, end, step);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return std::pair{JobId{from.substr(0, slash)}, step};
}

std::optional<Checkpoint> checkpoint_to_resume(const State& state, const LiveJob& job) {
  for (auto it = job.committed.rbegin(); it != job.committed.rend(); ++it) {
    if (it->second.attempt < job.row.attempt) return it->second;
  }
  const auto named = resume_source_of(job.row.spec);
  const auto source = named ? state.resume_sources.find(*named) : state.resume_sources.end();
  if (source == state.resume_sources.end()) return std::nullopt;
  return source->second;
}

bool has_lost_source(const State& state, const LiveJob& job) {
  const auto named = resume_source_of(job.row.spec);
  return named && job.committed.empty() && !state.resume_sources.contains(*named);
}

Cause lost_source(const LiveJob& job) {
  return {Reason::checkpoint_lost, "the checkpoint " + job.row.spec.checkpoint.resume_from +
                                       " that resume_from names is lost: a file of it is gone "
                                       "or damaged"};
}

Error no_such_checkpoint(const std::pair<JobId, std::int64_t>& source) {
  return invalid("job " + source.first.text + " has no committed checkpoint of step " +
                 std::to_string(source.second));
}

void release_resume_source(State& state, const std::pair<JobId, std::int64_t>& source) {
  const bool is_named = std::ranges::any_of(state.jobs, [&source](const auto& entry) {
    return resume_source_of(entry.second.row.spec) == source;
  });
  if (!is_named) state.resume_sources.erase(source);
}

bool has_final_checkpoint(const LiveJob& job) {
  return std::ranges::any_of(job.committed, [&job](const auto& entry) {
    return entry.second.final_one && entry.second.attempt == job.row.attempt;
  });
}

void drop_pending(Turn& turn, LiveJob& job) {
  for (auto& [step, checkpoint] : job.pending) {
    give_up(turn, std::move(checkpoint));
  }
  job.pending.clear();
  job.stored.clear();
}

}  // namespace trainyard::scheduler
