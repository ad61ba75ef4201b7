// The order in which the server works: it steps the core for what has arrived, saves all of that in
// one transaction, and only then sends, refuses, answers and announces. What anybody sees is
// durable.
//
// When a save fails, the core knows more than the database. So it is dropped, nothing of the
// transaction leaves, and whoever waits for an answer gets the error. restore() makes a new core
// from the rows; until then every event is `unavailable`.
//
// The scheduler's loop and the simulation both use this class. It does nothing itself: it calls
// the functions that it was given, and is told the time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/core/cluster.h"
#include "scheduler/core/idempotency_key.h"

namespace trainyard::scheduler {

class Transactions {
 public:
  using Changes = std::span<const Change>;
  // Called by the functions below, on their caller's thread.
  struct Surroundings {
    std::function<Result<Saved>()> load;
    // All or nothing; durable when it returns ok.
    std::function<Status(Changes changes, std::span<const IdempotencyKey> keys)> save;
    // Is this file of the job whole and durable?
    std::function<bool(const JobId& job, const std::string& sha256)> has_file;
    // After a save that succeeded:
    std::function<void(const Assignment&)> send;
    std::function<void(const Refusal&)> refuse;
    std::function<void(Changes saved)> announce;
  };
  Transactions(const Limits& limits, Surroundings surroundings)
      : limits_(limits), surroundings_(std::move(surroundings)) {}

  // A core from the rows: at the start, and after a save that failed.
  Status restore(const TokenMaker& tokens, Time now);
  [[nodiscard]] const Cluster* core() const { return core_ ? &*core_ : nullptr; }

  struct Stepped {
    Outcome outcome;
    Changes changes;  // valid until the next step() or commit()
  };
  // `unavailable` while there is no core.
  Stepped step(const Event& event, const Now& now);

  // What leaves with the steps so far, after their save:
  void refuse(Refusal refusal) { refusals_.push_back(std::move(refusal)); }
  using WhenSaved = std::function<void(const Status& saved)>;  // also where the save failed
  void when_saved(WhenSaved answer) { answers_.push_back(std::move(answer)); }
  // Saved with them. Found again at once, before it is saved.
  void add_key(IdempotencyKey key) { keys_.push_back(std::move(key)); }
  [[nodiscard]] std::optional<IdempotencyKey> find_key(const std::string& key) const;

  // It is time to commit: bounds how long the first answer waits, and how much is one transaction.
  [[nodiscard]] bool is_full() const;

  // Saves all steps so far, then lets out what they and their requests have to say.
  void commit(const Now& now);

  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  void commit_once();
  Status save();
  void look_for_files(const Checkpoint& checkpoint);

  const Limits limits_;
  const Surroundings surroundings_;
  std::optional<Cluster> core_;
  std::int64_t steps_ = 0;

  // Of the steps since the last save:
  std::vector<Change> changes_;
  std::vector<IdempotencyKey> keys_;
  std::map<AgentId, Assignment> sends_;  // the newest of each agent
  std::vector<Refusal> refusals_;
  std::vector<WhenSaved> answers_;
  std::vector<ArtifactStored> found_files_;  // of pending checkpoints; there already
};

}  // namespace trainyard::scheduler
