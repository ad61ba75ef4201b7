// When a ps takes a gradient and when a step commits: the rules of sync and async training, and
// nothing else. It counts distinct ranks, never requests, so that a push that comes twice changes
// nothing.
//
//   version = number of committed updates. A rank's steps are numbered from 1:
//     sync   the global step; version t+1 commits when every rank's step t+1 is in
//     async  the rank's own count; every accepted push commits at once
#pragma once

#include <cstdint>
#include <vector>

#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

class VersionGate {
 public:
  struct Rules {
    Mode mode = Mode::sync;
    std::int64_t ranks = 1;
    std::int64_t max_steps = 1;  // the version at which training is over
  };

  enum class Verdict {
    accept,
    duplicate,     // taken before: acknowledged, not applied
    finished,      // max_steps is reached: not applied, and the worker is told so
    out_of_order,  // a step that cannot be next: the caller is of another run or confused
    unknown_rank,
  };

  // Continues at `version`; rank_steps[r] = newest step taken of rank r (empty = `version` in sync,
  // 0 in async).
  VersionGate(Rules rules, std::int64_t version, std::vector<std::int64_t> rank_steps);

  [[nodiscard]] Verdict judge(std::int64_t rank, std::int64_t step) const;

  // Only after judge() said accept.
  void accept(std::int64_t rank, std::int64_t step);

  // True when what was accepted makes the next version; the caller applies it and calls commit().
  [[nodiscard]] bool complete() const;
  void commit();
  // Training is over at this version: nobody will push any more.
  void end() { rules_.max_steps = version_; }

  [[nodiscard]] std::int64_t version() const { return version_; }
  [[nodiscard]] bool finished() const { return version_ >= rules_.max_steps; }
  [[nodiscard]] const Rules& rules() const { return rules_; }
  [[nodiscard]] const std::vector<std::int64_t>& rank_steps() const { return rank_steps_; }
  [[nodiscard]] bool knows(std::int64_t rank) const { return rank >= 0 && rank < rules_.ranks; }

 private:
  Rules rules_;
  std::int64_t version_;
  std::vector<std::int64_t> rank_steps_;
  std::int64_t accepted_ = 0;  // since the last commit
};

}  // namespace trainyard::runtime
