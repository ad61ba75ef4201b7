// Sync with backup workers: which ranks' gradients make each step. The first so many that have
// theirs, so that nobody waits for a slow worker, nor for one that is gone. (J. Chen et al.,
// Revisiting Distributed Synchronous SGD, 2016.) Only ps 0 decides this, once for all ps; workers
// hand it on to the others.
//
// A rank reports a step when it has sent the gradients of all chunks to all ps. What it sent may
// still be lost with a connection or with the worker itself. Then it sends them again, as in sync
// without backups, and everybody waits for that: a step that is named is not named anew.
//
// A step is reported only by who has all parameters of the version before. So it is named only
// when that version is made everywhere, and chunks are never further apart than one version.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/named_step.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class StepNames {
 public:
  StepNames(const StepMembers& members, std::int64_t version);

  struct Report {
    std::int64_t rank = 0;
    std::int64_t step = 0;
    // The chief's alone. Not 0: a snapshot of this version is wanted, or of a later one.
    std::int64_t snapshot = 0;
    bool holds = false;  // the chief's alone: no step is named after that snapshot
  };
  // The step that is named now, if this was the last report that it needed. `invalid` where a right
  // worker says no such thing. The same may be reported again.
  Result<std::optional<NamedStep>> report(const Report& report);

  [[nodiscard]] const NamedStep& newest() const { return newest_; }
  // By rank: its reports of steps that had been named without it.
  [[nodiscard]] const std::vector<std::int64_t>& late() const { return late_; }

 private:
  [[nodiscard]] Status check(const Report& report) const;
  [[nodiscard]] std::optional<NamedStep> name_next();

  StepMembers members_;
  NamedStep newest_;
  std::vector<std::int64_t> reported_;  // by rank: its newest step
  std::vector<std::int64_t> late_;
  std::int64_t wanted_ = 0;  // a snapshot of this version or of a later one
  bool holds_ = false;
};

}  // namespace trainyard::runtime
