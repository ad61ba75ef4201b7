#include "scheduler/store/store.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include "scheduler/core/checkpoints.h"
#include "scheduler/store/checkpoint_rows.h"
#include "scheduler/store/host_rows.h"
#include "scheduler/store/metric_rows.h"
#include "scheduler/store/migrate.h"
#include "scheduler/store/partition_rows.h"
#include "scheduler/store/run_rows.h"
#include "scheduler/store/sound.h"

namespace trainyard::scheduler {
namespace {

// One change, one row (or a few of one table).
struct Save {
  Db& db;

  Status operator()(const SaveJob& change) const { return save_job(db, change.job); }
  Status operator()(const RemoveJob& change) const { return remove_job(db, change.job); }
  Status operator()(const SaveTask& change) const { return save_task(db, change.task); }
  Status operator()(const SaveAgent& change) const { return save_agent(db, change.agent); }
  Status operator()(const RemoveAgent& change) const { return remove_agent(db, change.agent); }
  Status operator()(const AppendRunEvents& change) const { return append_run_events(db, change); }
  Status operator()(const RollBackMetrics& change) const { return roll_back_metrics(db, change); }
  Status operator()(const SaveCheckpoint& change) const {
    return save_checkpoint(db, change.checkpoint);
  }
  Status operator()(const SavePartition& change) const { return save_partition(db, change); }
  Status operator()(const AppendJobEvent& change) const { return append_job_event(db, change); }
};

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace

Result<Store> Store::open(const std::string& path) {
  TRY_ASSIGN(Db db, Db::open(path, Access::read_write));
  TRY(migrate(db));
  return Store(std::move(db));
}

Result<Saved> Store::load() {
  Saved saved;
  TRY_ASSIGN(saved.jobs, read_unfinished_jobs(db_, specs_));
  TRY_ASSIGN(saved.agents, read_agents(db_));
  for (const Job& job : saved.jobs) {
    TRY_ASSIGN(auto tasks, read_tasks(db_, job.id, job.attempt));
    append(saved.tasks, std::move(tasks));
    TRY_ASSIGN(auto checkpoints, read_checkpoints(db_, job.id, Which::kept));
    append(saved.checkpoints, std::move(checkpoints));
  }
  for (const Job& job : saved.jobs) {
    const auto source = resume_source_of(job.spec);
    if (!source) continue;
    TRY_ASSIGN(auto checkpoint, committed_checkpoint(source->first, source->second));
    if (checkpoint && std::ranges::count(saved.checkpoints, *checkpoint) == 0) {
      saved.checkpoints.push_back(*std::move(checkpoint));
    }
  }
  TRY(check_saved(saved));
  return saved;
}

Status Store::save(std::span<const Change> changes, std::span<const IdempotencyKey> keys) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(db_));
  for (const Change& change : changes) TRY(std::visit(Save{db_}, change));
  for (const IdempotencyKey& key : keys) TRY(save_key(db_, key));
  return transaction.commit();
}

Result<std::optional<IdempotencyKey>> Store::find_key(const std::string& key) {
  return scheduler::find_key(db_, key);
}

Result<Job> Store::job(const JobId& id) { return find_job(db_, id, specs_); }

Result<std::uint64_t> Store::last_sequence() { return scheduler::last_sequence(db_); }

Result<std::vector<Checkpoint>> Store::committed_checkpoints(const JobId& id) {
  return read_checkpoints(db_, id, Which::committed);
}

Result<std::optional<Checkpoint>> Store::committed_checkpoint(const JobId& id, std::int64_t step) {
  TRY_ASSIGN(auto checkpoints, read_checkpoints(db_, id, Which::committed));
  std::optional<Checkpoint> found;
  for (Checkpoint& checkpoint : checkpoints) {
    if (checkpoint.step == step) found = std::move(checkpoint);
  }
  return found;
}

Status Store::belong_to(const std::string& folder_id) {
  return db_.run("INSERT OR REPLACE INTO state_folder (only, id) VALUES (1, ?)", folder_id);
}

Result<std::vector<Store::EndedJob>> Store::ended_jobs(const EndedQuery& asked) {
  Query query = db_.query(
      "SELECT id, sequence FROM jobs WHERE state IN ('succeeded', 'failed', 'cancelled') "
      "AND finished_at > 0 AND finished_at < ? AND sequence > ? ORDER BY sequence LIMIT ?",
      asked.before, asked.after_sequence, asked.limit);
  std::vector<EndedJob> jobs;
  while (query.next()) jobs.push_back({.id = JobId{query.text()}, .sequence = query.integer()});
  TRY(query.finish());
  return jobs;
}

Status Store::remove_reports(const JobId& job, std::span<const ReportKey> reports) {
  TRY_ASSIGN(Transaction transaction, Transaction::begin(db_));
  TRY(scheduler::remove_reports(db_, job, reports));
  return transaction.commit();
}

Status Store::probe() {
  Query query = db_.query("PRAGMA user_version");
  const std::int64_t version = query.next() ? query.integer() : 0;
  TRY(query.finish());
  return db_.execute("PRAGMA user_version = " + std::to_string(version));
}

Status Store::tidy_up() { return db_.execute("PRAGMA wal_checkpoint(TRUNCATE)"); }

}  // namespace trainyard::scheduler
