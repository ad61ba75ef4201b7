// Which contributions make a step of sync training with backup workers: the first so many, decided
// once for the whole model and for all ps, so that no ps averages other workers than the next.
//
// A worker pushes its gradients to every ps, which holds them. When all do, it tells ps 0 that it
// is ready, and ps 0 decides the step as soon as enough are: of contributions, therefore, that are
// everywhere, and no step is ever torn, whoever dies. ps 0 answers every worker with who made its
// version, and workers hand that on to the other ps, which make the same. A step begins only where
// all ps have made the one before: they are one version apart at most.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schemas/base/result.h"

namespace trainyard::runtime {

// How a version was made.
struct MadeStep {
  std::int64_t version = 0;         // 0: none since the ps started
  std::vector<std::int64_t> ranks;  // whose contributions, ascending
  std::int64_t snapshot = 0;        // newest version that is to be a checkpoint; 0: none yet
  [[nodiscard]] bool has(std::int64_t rank) const;
  bool operator==(const MadeStep&) const = default;
};

class BackupSteps {
 public:
  enum class Part {
    alone,    // the only ps: what it holds is everywhere
    leads,    // ps 0
    follows,  // is told
  };
  struct Rules {
    Part part = Part::alone;
    std::int64_t ranks = 1;
    std::int64_t aggregate = 1;  // contributions that a step waits for, 1 to `ranks`
    std::int64_t max_steps = 1;
  };

  BackupSteps(Rules rules, std::int64_t version);

  enum class Verdict {
    hold,
    duplicate,     // came before
    late,          // the step is made without it: dropped
    out_of_order,  // of a step that is not next
  };
  // Of a contribution to `step`, from a rank of 0 to `ranks` - 1.
  [[nodiscard]] Verdict judge(std::int64_t rank, std::int64_t step) const;

  // Only after judge() said hold: it is here.
  void hold(std::int64_t rank);
  // Only after judge() said late.
  void drop(std::int64_t rank, std::int64_t step);
  // Every ps holds the rank's contribution to `step`, or it has been made. False where this one
  // knows better.
  [[nodiscard]] bool ready(std::int64_t rank, std::int64_t step);

  // A rank that is not there is not waited for; what it was ready with still counts. The first
  // step waits for those who are yet to come, too.
  void gone(std::int64_t rank) { there_[index_of(rank)] = Presence::gone; }
  void come(std::int64_t rank) { there_[index_of(rank)] = Presence::there; }

  // The next version, but the last, is to be a checkpoint; so is whichever comes after a push that
  // asked for one and was late.
  void ask_snapshot() { snapshot_asked_ = true; }
  [[nodiscard]] bool asks_snapshot() const { return snapshot_asked_; }

  // Of what the next version is made: of all that are ready, once they are `aggregate` or nobody
  // else is there. Nothing before, and never on a ps that follows.
  [[nodiscard]] std::optional<MadeStep> decide() const;

  // Whether what a worker says of a version can be: `conflict` where it contradicts what is known
  // here.
  [[nodiscard]] Status check(const MadeStep& told) const;

  // The next version is made: contributions to it that were here and are not of it are dropped.
  void commit(MadeStep made);

  [[nodiscard]] const Rules& rules() const { return rules_; }
  [[nodiscard]] const MadeStep& newest() const { return newest_; }
  // Contributions that were dropped since the ps started, by rank.
  [[nodiscard]] const std::vector<std::int64_t>& dropped() const { return dropped_; }

 private:
  enum class Presence { yet_to_come, there, gone };
  static std::size_t index_of(std::int64_t rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] bool holds(std::int64_t rank) const;
  [[nodiscard]] bool waits_for(std::int64_t rank) const;

  Rules rules_;
  std::int64_t version_;
  MadeStep newest_;
  std::vector<std::int64_t> received_;  // by rank: its newest contribution's step
  std::vector<bool> ready_;             // by rank: to the next version
  std::vector<Presence> there_;         // by rank
  std::vector<std::int64_t> dropped_;
  bool snapshot_asked_ = false;
};

}  // namespace trainyard::runtime
