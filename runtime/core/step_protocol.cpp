// Sync: ps are at two versions at most, since a step needs this worker's push on each. Async: every
// ps is to end with the same pushes, so ps 0 gives turns (runtime/core/turns.h) until all are made.
#include "runtime/core/step_protocol.h"

#include <algorithm>

namespace trainyard::runtime {

StepProtocol::Ask StepProtocol::next() const {
  using enum Ask::What;
  const bool sync = rules_.mode == Mode::sync;
  switch (phase_) {
    case Phase::starts: return {.what = pull};
    case Phase::aligns:
      // Its own push is what one of them misses: it is made again from what it was made from.
      if (seen_.rank_step < seen_.newest) return {.what = pull_exactly, .version = seen_.oldest};
      return {.what = pull, .version = seen_.newest};
    case Phase::trains:
      if (!goes_on()) return {.what = pull_turn};
      return {.what = push,
              .step = (sync ? seen_.version : seen_.rank_step) + 1,
              .snapshot_step = snapshot_to_carry()};
    case Phase::ends: return {.what = pull, .version = rules_.max_steps};
    case Phase::over: break;
  }
  return {};
}

// Each name once: a ps that had not heard of it yet is told by the same push as the others.
std::int64_t StepProtocol::snapshot_to_carry() const {
  return seen_.asked_snapshot > marked_ ? seen_.asked_snapshot : own_snapshot_;
}

bool StepProtocol::goes_on() const {
  return rules_.mode == Mode::sync || seen_.turn || pushed_to_some_;
}

void StepProtocol::take(const Seen& seen) {
  const bool sync = rules_.mode == Mode::sync;
  const Phase before = phase_;
  if (const Ask asked = next(); asked.what == Ask::What::push) {
    marked_ = std::max(marked_, asked.snapshot_step);
    own_snapshot_ = 0;
  }
  seen_ = seen;
  pushed_to_some_ = before == Phase::starts && seen.rank_step < seen.rank_step_max;
  if (before == Phase::starts && sync && seen.oldest != seen.newest) {
    phase_ = Phase::aligns;
  } else if (before == Phase::ends) {
    phase_ = Phase::over;
  } else {
    phase_ = Phase::trains;
    if (sync && seen.version >= rules_.max_steps) phase_ = Phase::over;
    // A push that only some ps have is made up for even where ps 0 has seen the last step.
    if (!sync && seen.version >= rules_.max_steps && !goes_on()) phase_ = Phase::ends;
  }
}

}  // namespace trainyard::runtime
