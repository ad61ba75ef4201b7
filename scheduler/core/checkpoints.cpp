#include "scheduler/core/checkpoints.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

namespace trainyard::scheduler {
namespace {

// Files that a gang writes between two manifests: far fewer. What is forgotten is found again by
// the caller when the pending checkpoint is saved (ArtifactStored, events.h).
constexpr std::size_t stored_files_max = 4096;

template <class Visit>
void for_each_file(const Checkpoint& checkpoint, Visit visit) {
  visit(checkpoint.manifest);
  for (const ArtifactFile& shard : checkpoint.shards) visit(shard);
}

bool is_stored(const LiveJob& job, const std::string& sha256) {
  if (std::ranges::find(job.stored, sha256) != job.stored.end()) return true;
  return std::ranges::any_of(job.committed, [&sha256](const auto& entry) {
    bool found = false;
    for_each_file(entry.second, [&](const ArtifactFile& file) { found |= file.sha256 == sha256; });
    return found;
  });
}

bool is_whole(const LiveJob& job, const Checkpoint& checkpoint) {
  bool whole = true;
  for_each_file(checkpoint,
                [&](const ArtifactFile& file) { whole = whole && is_stored(job, file.sha256); });
  return whole;
}

bool lower_is_better(const std::string& metric) {
  return metric.find("accuracy") == std::string::npos;
}

// The steps that retention keeps by the spec: the newest few, and the best few by the metric.
std::set<std::int64_t> steps_to_keep(const LiveJob& job) {
  const CheckpointSpec& spec = job.row.spec.checkpoint;
  std::set<std::int64_t> keep;
  std::vector<std::pair<double, std::int64_t>> by_metric;
  const std::int64_t newest = std::max<std::int64_t>(spec.keep_latest, 1);
  for (auto it = job.committed.rbegin(); it != job.committed.rend(); ++it) {
    const auto& [step, checkpoint] = *it;
    if (std::cmp_less(keep.size(), newest)) keep.insert(step);
    const auto value = checkpoint.metrics.find(spec.metric);
    if (value == checkpoint.metrics.end()) continue;
    const double score = lower_is_better(spec.metric) ? value->second : -value->second;
    by_metric.emplace_back(score, -step);  // of equals the newer
  }
  std::ranges::sort(by_metric);
  for (std::size_t i = 0; i < by_metric.size() && std::cmp_less(i, spec.keep_best); ++i) {
    keep.insert(-by_metric[i].second);
  }
  return keep;
}

bool is_needed(const State& state, const LiveJob& job, std::int64_t step) {
  if (state.donors.contains({job.row.id, step})) return true;
  const bool gang_may_still_fetch = job.row.state == JobState::starting;
  return gang_may_still_fetch && job.restore && job.restore->step == step;
}

void give_up(Turn& turn, Checkpoint checkpoint) {
  checkpoint.state = CheckpointState::deleted;
  turn.add(SaveCheckpoint{std::move(checkpoint)});
}

void retain(Turn& turn, LiveJob& job) {
  const std::set<std::int64_t> keep = steps_to_keep(job);
  std::erase_if(job.committed, [&](auto& entry) {
    if (keep.contains(entry.first) || is_needed(turn.state, job, entry.first)) return false;
    give_up(turn, std::move(entry.second));
    return true;
  });
}

void commit(Turn& turn, LiveJob& job, Checkpoint checkpoint) {
  const std::int64_t step = checkpoint.step;
  checkpoint.state = CheckpointState::committed;
  for_each_file(checkpoint,
                [&job](const ArtifactFile& file) { std::erase(job.stored, file.sha256); });
  turn.add(SaveCheckpoint{checkpoint});
  const std::string line = "checkpoint of step " + std::to_string(step) + " is committed";
  turn.note(job, {"checkpoint", line});
  job.committed.insert_or_assign(step, std::move(checkpoint));
  job.row.latest_checkpoint = job.committed.rbegin()->first;
  turn.save(job);
  retain(turn, job);
}

bool is_refused(const LiveJob& job, std::int64_t step) {
  if (step < 0) return true;
  const auto newer = job.committed.lower_bound(step);
  return newer != job.committed.end() &&
         (newer->first > step || newer->second.attempt > job.row.attempt);
}

}  // namespace

void take_manifest(Turn& turn, LiveJob& job, const ManifestEvent& manifest) {
  if (is_refused(job, manifest.step)) return;
  Checkpoint checkpoint{
      job.row.id,        manifest.step,   job.row.attempt,  CheckpointState::pending,
      manifest.manifest, manifest.shards, manifest.metrics, manifest.final_one,
      turn.now.wall};
  if (is_whole(job, checkpoint)) {
    job.pending.erase(checkpoint.step);
    return commit(turn, job, std::move(checkpoint));
  }
  // A committed one of the same step keeps its row until the new one can take its place.
  if (!job.committed.contains(checkpoint.step)) turn.add(SaveCheckpoint{checkpoint});
  job.pending.insert_or_assign(manifest.step, std::move(checkpoint));
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

std::optional<std::pair<JobId, std::int64_t>> donor_of(const JobSpec& spec) {
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
  const auto named = donor_of(job.row.spec);
  const auto donor = named ? state.donors.find(*named) : state.donors.end();
  if (donor == state.donors.end()) return std::nullopt;
  return donor->second;
}

void release_donor(State& state, const std::pair<JobId, std::int64_t>& donor) {
  const bool is_named = std::ranges::any_of(
      state.jobs, [&donor](const auto& entry) { return donor_of(entry.second.row.spec) == donor; });
  if (!is_named) state.donors.erase(donor);
}

bool has_final_checkpoint(const LiveJob& job) {
  return std::ranges::any_of(job.committed, [&job](const auto& entry) {
    return entry.second.final_one && entry.second.attempt == job.row.attempt;
  });
}

void drop_pending(Turn& turn, LiveJob& job) {
  for (auto& [step, checkpoint] : job.pending) {
    if (!job.committed.contains(step)) give_up(turn, std::move(checkpoint));
  }
  job.pending.clear();
  job.stored.clear();
}

}  // namespace trainyard::scheduler
