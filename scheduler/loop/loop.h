// The scheduler's one thread: takes what has arrived, ticks, and commits all of it in one go. The
// order "save, then send, answer and announce" is that of scheduler/core/transactions.h; here are
// the inbox, the clocks, the database, the log and the figures around it.
//
// After a save that failed there is no core until the database takes a write again; every request
// is `unavailable` meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "scheduler/core/transactions.h"
#include "scheduler/loop/counters.h"
#include "scheduler/loop/health.h"
#include "scheduler/store/artifacts.h"
#include "scheduler/store/store.h"
#include "schemas/base/inbox.h"
#include "schemas/base/time.h"

namespace trainyard::scheduler {

// What the loop does to others, on its thread, after a save. None of these may block.
struct LoopEffects {
  std::function<void(const Assignment&)> send;
  std::function<void(const Refusal&)> refuse;
  std::function<void(const JobId&)> announce;      // the job, its events or its metrics changed
  std::function<void(const JobId&)> files_unused;  // some of the job's files, perhaps
  std::function<void(const JobId&)> removed;       // by its owner: its files may go
};

class Loop {
 public:
  Loop(Store store, const Artifacts& artifacts, const SchedulerOptions& options,
       Scheduler::Counters& counters);

  // Restores the core; to be called once, before run().
  Status prepare(TokenMaker tokens, LoopEffects effects);
  void run();  // until close(), and until all that was posted before it is done
  void close();

  using Work = std::function<void(Loop&)>;
  // False when too much waits already, or after close().
  [[nodiscard]] bool post(Work work);
  [[nodiscard]] const Health& health() const { return health_; }

  // --- for Work, on the loop's thread ---

  using Stepped = Transactions::Stepped;
  // `unavailable` while there is no core.
  Stepped step(const Event& event);

  // The same way out as the core's own refusals.
  void refuse(Refusal refusal) { transactions_.refuse(std::move(refusal)); }

  // Called after the save of all steps so far, with what became of it.
  void when_saved(Transactions::WhenSaved answer) { transactions_.when_saved(std::move(answer)); }

  // Saves, sends and answers all steps so far, for work that must read what is stored.
  void commit();

  // The request that makes a job: kept with it. Found again at once, before it is saved.
  void add_key(IdempotencyKey key) { transactions_.add_key(std::move(key)); }
  Result<std::optional<IdempotencyKey>> find_key(const std::string& key);

  std::uint64_t take_sequence() { return ++last_sequence_; }
  Store& store() { return store_; }
  const Cluster* core() const { return transactions_.core(); }

 private:
  Transactions::Surroundings surroundings();
  Result<Saved> load();  // and where the jobs' sequence goes on
  Status save(std::span<const Change> changes, std::span<const IdempotencyKey> keys);
  void count_save(double seconds);
  void announce_changes(std::span<const Change> changes);
  void tick(Time now);
  void probe(Time now);
  void count_agents();
  void remove_expired();

  Store store_;
  const Artifacts& artifacts_;
  const std::optional<Millis> job_ttl_;
  Scheduler::Counters& counters_;
  TokenMaker tokens_;
  LoopEffects effects_;
  Inbox<Work> inbox_;
  Health health_;
  Time written_at_;  // to the database, the last time that it was tried

  std::uint64_t last_sequence_ = 0;
  std::int64_t ticks_ = 0;
  std::int64_t expired_up_to_ = 0;  // the job's sequence where the next look goes on
  Transactions transactions_;
};

}  // namespace trainyard::scheduler
