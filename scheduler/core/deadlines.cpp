#include "scheduler/core/deadlines.h"

namespace trainyard::scheduler {

void Deadlines::arm(const Deadline& deadline) {
  disarm(deadline.job, deadline.kind);
  armed_[{deadline.job, deadline.kind}] = deadline.at;
  by_time_.insert(deadline);
}

void Deadlines::disarm(const JobId& job, DeadlineKind kind) {
  const auto found = armed_.find({job, kind});
  if (found == armed_.end()) return;
  by_time_.erase({found->second, job, kind});
  armed_.erase(found);
}

void Deadlines::disarm_all(const JobId& job) {
  using enum DeadlineKind;
  for (const DeadlineKind kind :
       {backoff_over, queued_too_long, ran_too_long, no_progress, saves_too_long}) {
    disarm(job, kind);
  }
}

bool Deadlines::armed(const JobId& job, DeadlineKind kind) const {
  return armed_.contains({job, kind});
}

std::vector<Deadline> Deadlines::take_due(Time now) {
  std::vector<Deadline> due;
  while (!by_time_.empty() && by_time_.begin()->at <= now) {
    due.push_back(*by_time_.begin());
    armed_.erase({due.back().job, due.back().kind});
    by_time_.erase(by_time_.begin());
  }
  return due;
}

}  // namespace trainyard::scheduler
