// The server's memory: what the core says must be saved, in one transaction; and all of it back at
// a start. One Store per database, used by the scheduler's thread alone.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scheduler/core/events.h"
#include "scheduler/store/db.h"
#include "scheduler/store/job_rows.h"
#include "scheduler/store/reader.h"

namespace trainyard::scheduler {

class Store {
 public:
  // Creates the database where there is none, and migrates an older one.
  static Result<Store> open(const std::string& path);

  Result<Saved> load();

  // All of `changes` and `keys`, in order, or nothing; durable when it returns ok. The changes of
  // many steps may come together: one fsync for all of them.
  Status save(std::span<const Change> changes, std::span<const IdempotencyKey> keys = {});

  Result<std::optional<IdempotencyKey>> find_key(const std::string& key);
  Result<Job> job(const JobId& id);       // not_found
  Result<std::uint64_t> last_sequence();  // 0 when there was never a job
  // Committed ones of any job, one of them by its step; the newest attempt's.
  Result<std::optional<Checkpoint>> committed_checkpoint(const JobId& id, std::int64_t step);
  Result<std::vector<Checkpoint>> committed_checkpoints(const JobId& id);  // by step

  // Which state folder the database belongs to (scheduler/store/belonging.h).
  Status belong_to(const std::string& folder_id);

  struct EndedJob {
    JobId id;
    std::int64_t sequence = 0;
  };
  struct EndedQuery {
    WallTime before;
    std::int64_t after_sequence = 0;  // of those submitted after the job of that sequence
    std::int64_t limit = 0;
  };
  // Jobs that have ended, oldest first.
  Result<std::vector<EndedJob>> ended_jobs(const EndedQuery& asked);
  // In a transaction of its own: nothing depends on them.
  Status remove_reports(const JobId& job, std::span<const ReportKey> reports);

  // A small write that changes nothing, durable as any other: whether a save would succeed.
  Status probe();

  // Moves what is in the write-ahead log into the database file: at the end of an orderly stop.
  Status tidy_up();

 private:
  explicit Store(Db db) : db_(std::move(db)) {}

  Db db_;
  SpecCache specs_;
};

}  // namespace trainyard::scheduler
