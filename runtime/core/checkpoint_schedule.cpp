#include "runtime/core/checkpoint_schedule.h"

namespace trainyard::runtime {

bool crosses(std::int64_t from, std::int64_t to, std::int64_t every) {
  return every > 0 && to / every > from / every;
}

CheckpointSchedule::CheckpointSchedule(const Rules& rules, std::int64_t start, Time now)
    : rules_(rules), newest_(start), newest_at_(now) {}

bool CheckpointSchedule::is_due(std::int64_t step, bool ordered, Time now) const {
  if (asked_ || ordered_ || step <= newest_ || step >= rules_.last_step) return false;
  const bool by_time = rules_.every > Millis{} && now - newest_at_ >= rules_.every;
  return ordered || by_time || crosses(newest_, step, rules_.every_steps);
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
