// What the server has saved, as rows in memory. It outlives the server, and checks each change
// against what was saved before: a terminal state never changes, nothing is stored twice.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "scheduler/core/events.h"
#include "tests/sim/journal.h"

namespace trainyard::sim {

class Database {
 public:
  explicit Database(Journal& journal) : journal_(journal) {}

  void save(const std::vector<scheduler::Change>& changes);
  [[nodiscard]] scheduler::Saved load() const;

  // Files are durable apart from the rows.
  void store_file(const std::string& sha256) { files_.insert(sha256); }
  [[nodiscard]] bool has_file(const std::string& sha256) const { return files_.contains(sha256); }

  [[nodiscard]] const std::map<JobId, Job>& jobs() const { return jobs_; }
  // The newest committed checkpoint of an attempt before `attempt`.
  [[nodiscard]] const Checkpoint* newest_committed(const JobId& job, std::int64_t attempt) const;

 private:
  void save(const scheduler::SaveJob& change);
  void save(const scheduler::RemoveJob& change);
  void save(const scheduler::SaveTask& change);
  void save(const scheduler::SaveAgent& change);
  void save(const scheduler::AppendRunEvents& change);
  void save(const scheduler::RollBackMetrics& change);
  void save(const scheduler::SaveCheckpoint& change);
  void save(const scheduler::SavePartition& change);
  void save(const scheduler::AppendJobEvent& change);
  void check_committed(const Checkpoint& checkpoint);
  void check_transition(const Job& before, const Job& after);

  Journal& journal_;
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
