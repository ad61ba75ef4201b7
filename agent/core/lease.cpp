#include "agent/core/lease.h"

#include <algorithm>

namespace trainyard::agent {

void Lease::sent(std::int64_t number, Time now) {
  std::erase_if(sent_, [&](const auto& report) { return now - report.second >= stop_after_; });
  sent_[number] = now;
}

void Lease::answered(std::int64_t number, Millis stop_after) {
  stop_after_ = stop_after;
  giver_ = Giver::this_server;
  const auto report = sent_.find(number);
  if (report == sent_.end()) return;  // too long ago to renew anything
  renewed_at_ = std::max(renewed_at_, report->second);
  sent_.erase(sent_.begin(), std::next(report));
}

void Lease::refused(Time now) {
  if (giver_ == Giver::this_server) renewed_at_ = std::max(renewed_at_, now);
}

}  // namespace trainyard::agent
