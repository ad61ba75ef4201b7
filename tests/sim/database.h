// What the server has saved, as rows in memory. It outlives the server, and checks each change
// against what was saved before: a terminal state never changes, nothing is stored twice. For a
// while it may refuse to be written, as on a full disk.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>

#include "scheduler/core/events.h"
#include "tests/sim/journal.h"

namespace trainyard::sim {

class Database {
 public:
  explicit Database(Journal& journal) : journal_(journal) {}

  Status save(std::span<const scheduler::Change> changes);  // all or nothing
  Status probe();  // would a save succeed? Counts as one that is refused
  [[nodiscard]] scheduler::Saved load() const;
  void refuse(std::int64_t saves) { refusals_left_ = saves; }  // the next ones

  // Files are durable apart from the rows.
  void store_file(const std::string& sha256) { files_.insert(sha256); }
  [[nodiscard]] bool has_file(const std::string& sha256) const { return files_.contains(sha256); }

  [[nodiscard]] const std::map<JobId, Job>& jobs() const { return jobs_; }
  [[nodiscard]] bool has_ended(const TaskKey& task) const;
  // The newest committed checkpoint of an attempt before `attempt`.
  [[nodiscard]] const Checkpoint* newest_committed(const JobId& job, std::int64_t attempt) const;

 private:
  void save(const scheduler::SaveJob& change);
  void save(const scheduler::RemoveJob& change);
  void save(const scheduler::SaveTask& change);
  void save(const scheduler::SaveAgent& change);
  void save(const scheduler::RemoveAgent& change);
  void save(const scheduler::AppendRunEvents& change);
  void save(const scheduler::RollBackMetrics& change);
  void save(const scheduler::SaveCheckpoint& change);
  void save(const scheduler::SavePartition& change);
  void save(const scheduler::AppendJobEvent& change);
  void check_committed(const Checkpoint& checkpoint);
  void check_transition(const Job& before, const Job& after);

  Journal& journal_;
  std::int64_t refusals_left_ = 0;
  std::map<JobId, Job> jobs_;
  std::map<TaskKey, TaskAttempt> tasks_;
  std::map<AgentId, AgentRecord> agents_;
  // By step and attempt.
  std::map<std::tuple<JobId, std::int64_t, std::int64_t>, Checkpoint> checkpoints_;
  std::map<TaskKey, std::int64_t> last_event_;  // offset of the newest
  std::map<JobId, std::int64_t> partitions_;    // attempt of the newest
  std::set<std::string> files_;
};

}  // namespace trainyard::sim
