// Sync: ps are at two versions at most, since a step needs this worker's push on each, or that of
// its heir while it is away. Async: every ps is to end with the same pushes, so ps 0 gives turns
// (runtime/core/turns.h) until all are made.
#include "runtime/core/step_protocol.h"

#include <algorithm>
#include <utility>

namespace trainyard::runtime {

StepProtocol::Ask StepProtocol::next() const {
  using enum Ask::What;
  if (stands_in()) return next_of_heir();
  const bool sync = rules_.mode == Mode::sync;
  switch (phase_) {
    // While one ps did not know yet that this worker is back, heirs may have gone on with another.
    case Phase::looks_again:
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

// First the parameters that the absent would have begun with, again: some ps may have answered with
// what came after them. At the end what was waited for.
StepProtocol::Ask StepProtocol::next_of_heir() const {
  using enum Ask::What;
  const std::int64_t step = inheritance_.step;
  switch (heir_) {
    case Heir::looks: return {.what = pull, .version = step - 1};
    case Heir::goes_back: return {.what = pull_exactly, .version = step - 1};
    case Heir::computes: return {.what = inherit, .step = step};
    case Heir::waits: return {.what = pull, .version = step};
    case Heir::no: break;
  }
  return {};
}

// True until the answer that was waited for is there. That may be at once: who was absent came back
// meanwhile, or another heir was faster.
bool StepProtocol::take_as_heir(const Seen& seen) {
  if (seen.inheritance.asked()) {
    inheritance_ = seen.inheritance;
    heir_ = inheritance_.ranks.empty() ? Heir::waits : Heir::looks;
    return true;
  }
  const std::int64_t step = inheritance_.step;
  const bool made = seen.oldest >= step;
  const bool is_back = seen.newest < step;
  if (heir_ == Heir::goes_back && !is_back) {
    heir_ = Heir::looks;
  } else if (heir_ == Heir::goes_back || (heir_ == Heir::looks && is_back)) {
    heir_ = Heir::computes;
  } else if (heir_ == Heir::looks && !made) {
    heir_ = Heir::goes_back;
  } else {
    heir_ = Heir::no;
  }
  return stands_in();
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
  const Ask asked = next();
  if (asked.what == Ask::What::push) {
    marked_ = std::max(marked_, asked.snapshot_step);
    own_snapshot_ = 0;
  }
  const bool is_past = asked.what == Ask::What::pull_exactly && seen.newest > asked.version;
  looks_again_ |= sync && (seen.was_cut || is_past);
  if (take_as_heir(seen)) return;
  const Phase before = std::exchange(looks_again_, false) ? Phase::starts : phase_;
  seen_ = seen;
  pushed_to_some_ = before == Phase::starts && seen.rank_step < seen.rank_step_max;
  if (before < Phase::aligns && sync && seen.oldest != seen.newest) {
    phase_ = before == Phase::starts ? Phase::looks_again : Phase::aligns;
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
