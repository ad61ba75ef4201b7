// When a checkpoint is due, and which one was asked for. It is named by a step, see
// docs/checkpoints.md.
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/base/time.h"

namespace trainyard::runtime {

// True when a multiple of `every` lies in (from, to]; never for 0.
bool crosses(std::int64_t from, std::int64_t to, std::int64_t every);

class CheckpointSchedule {
 public:
  struct Rules {
    std::int64_t every_steps = 0;  // 0: never by steps
    Millis every = {};             // 0: never by time
    std::int64_t last_step = 1;    // its checkpoint is the final one, which is not asked for here
  };
  // `start`: the step that training goes on from, of which there is a checkpoint, or 0.
  CheckpointSchedule(const Rules& rules, std::int64_t start, Time now);

  struct Moment {
    std::int64_t step = 1;
    bool ordered = false;  // somebody wants one as soon as can be
    Time now = {};
    std::int64_t waiting = 0;  // earlier ones that are still to be delivered
  };
  // So many may wait without any effect. With each one more both intervals count double, since the
  // disk is not to fill up while the server is away: 16 that wait span 256 intervals.
  static constexpr std::int64_t waiting_max = 8;

  // Whether the step is to have one. Not while the last one is still to be made, and never after
  // one that was ordered. One that is ordered is due however many wait.
  [[nodiscard]] bool is_due(const Moment& moment) const;
  // That of `step` is asked for.
  void ask(std::int64_t step, bool ordered, Time now);

  // The step of the one that is still to be made, once training has come to `version`; 0: none.
  [[nodiscard]] std::int64_t asked_by(std::int64_t version) const;
  // It is being made.
  void begin() { asked_.reset(); }
  // Whether this is the one that was ordered: no step is made behind it.
  [[nodiscard]] bool is_ordered(std::int64_t step) const { return ordered_ == step; }

 private:
  Rules rules_;
  std::int64_t newest_;  // step of the last one that was asked for
  Time newest_at_;
  std::optional<std::int64_t> asked_;
  std::optional<std::int64_t> ordered_;
};

}  // namespace trainyard::runtime
