#include "scheduler/core/registrations.h"

namespace trainyard::scheduler {

Status Registrations::admit(const std::string& address, Time now) {
  forget_before(now - seconds(60));
  const auto from_there = of_address_.find(address);
  if (from_there != of_address_.end() && from_there->second >= limits_.per_minute_of_address) {
    return unavailable("from " + address + " " + std::to_string(from_there->second) +
                       " new agents have come within a minute, as many as may "
                       "(--new-agents-per-minute-of-address): try again later");
  }
  if (std::ssize(newest_) >= limits_.per_minute) {
    return unavailable(std::to_string(newest_.size()) +
                       " new agents have come within a minute, as many as may "
                       "(--new-agents-per-minute): try again later");
  }
  newest_.emplace_back(now, address);
  ++of_address_[address];
  return ok();
}

void Registrations::forget_before(Time start) {
  while (!newest_.empty() && newest_.front().first <= start) {
    const auto entry = of_address_.find(newest_.front().second);
    if (--entry->second == 0) of_address_.erase(entry);
    newest_.pop_front();
  }
}

}  // namespace trainyard::scheduler
