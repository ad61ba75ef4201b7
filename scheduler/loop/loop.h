// The scheduler's one thread: steps the core for everything that has arrived, saves all of it in
// one transaction, and only then sends, answers and announces. What a reader or an agent sees is
// durable, always.
//
// When a save fails the core has run ahead of the database: it is thrown away and restored from
// there, nobody is answered that anything was done, and until that works every request is
// `unavailable`.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "scheduler/core/cluster.h"
#include "scheduler/loop/counters.h"
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
  std::function<void(const JobId&)> removed;
};

class Loop {
 public:
  Loop(Store store, const Artifacts& artifacts, const Limits& limits,
       Scheduler::Counters& counters);

  // Restores the core; to be called once, before run().
  Status prepare(LoopEffects effects);
  void run();  // until close(), and until all that was posted before it is done
  void close();

  using Work = std::function<void(Loop&)>;
  // False when too much waits already, or after close().
  [[nodiscard]] bool post(Work work);
  [[nodiscard]] bool ready() const { return ready_; }

  // --- for Work, on the loop's thread ---

  struct Stepped {
    Outcome outcome;
    std::span<const Change> changes;  // valid until the next step
  };
  // `unavailable` while there is no core.
  Stepped step(const Event& event);

  // Called after the save of all steps so far, with what became of it.
  using WhenSaved = std::function<void(const Status& saved)>;
  void when_saved(WhenSaved answer) { answers_.push_back(std::move(answer)); }

  // Saves, sends and answers all steps so far, for work that must read what is stored.
  void commit();

  // The request that makes a job: kept with it. Found again at once, before it is saved.
  void add_key(IdempotencyKey key) { keys_.push_back(std::move(key)); }
  Result<std::optional<IdempotencyKey>> find_key(const std::string& key);

  std::uint64_t take_sequence() { return ++last_sequence_; }
  Store& store() { return store_; }
  const Cluster* core() const { return core_ ? &*core_ : nullptr; }

 private:
  Status restore();
  void tick();
  void count_agents();
  void commit_once();
  Status save();
  void drop_core(const Error& error);
  void tell_others(const std::vector<Change>& changes);
  void look_for_files(const Checkpoint& checkpoint);

  Store store_;
  const Artifacts& artifacts_;
  const Limits limits_;
  Scheduler::Counters& counters_;
  LoopEffects effects_;
  Inbox<Work> inbox_;
  std::atomic<bool> ready_ = false;

  std::optional<Cluster> core_;
  std::uint64_t last_sequence_ = 0;
  std::int64_t ticks_ = 0;
  // Of the steps since the last save:
  std::vector<Change> changes_;
  std::vector<IdempotencyKey> keys_;
  std::map<AgentId, Assignment> sends_;  // the newest of each agent
  std::vector<Refusal> refusals_;
  std::vector<WhenSaved> answers_;
  std::vector<ArtifactStored> found_files_;  // of pending checkpoints, on disk already
};

}  // namespace trainyard::scheduler
