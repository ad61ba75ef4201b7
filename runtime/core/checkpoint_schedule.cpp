#include "runtime/core/checkpoint_schedule.h"

#include <algorithm>
#include <limits>

namespace trainyard::runtime {

namespace {

// Twice as long with each one that waits beyond those that may; 0, which is never, stays 0. What
// would be longer than any training is cut there.
std::int64_t stretched(std::int64_t interval, std::int64_t waiting) {
  constexpr std::int64_t doublings_max = 62;
  const std::int64_t doublings =
      std::clamp<std::int64_t>(waiting - CheckpointSchedule::waiting_max, 0, doublings_max);
  return std::min(interval, std::numeric_limits<std::int64_t>::max() >> doublings) << doublings;
}

}  // namespace

bool crosses(std::int64_t from, std::int64_t to, std::int64_t every) {
  return every > 0 && to / every > from / every;
}

CheckpointSchedule::CheckpointSchedule(const Rules& rules, std::int64_t start, Time now)
    : rules_(rules), newest_(start), newest_at_(now) {}

bool CheckpointSchedule::is_due(const Moment& moment) const {
  const std::int64_t step = moment.step;
  if (asked_ || ordered_ || step <= newest_ || step >= rules_.last_step) return false;
  const Millis every{stretched(rules_.every.count, moment.waiting)};
  const bool by_time = every > Millis{} && moment.now - newest_at_ >= every;
  const bool by_steps = crosses(newest_, step, stretched(rules_.every_steps, moment.waiting));
  return moment.ordered || by_time || by_steps;
}

void CheckpointSchedule::ask(std::int64_t step, bool ordered, Time now) {
  asked_ = newest_ = step;
  newest_at_ = now;
  if (ordered) ordered_ = step;
}

std::int64_t CheckpointSchedule::asked_by(std::int64_t version) const {
  return asked_ && version >= *asked_ ? *asked_ : 0;
}

}  // namespace trainyard::runtime
