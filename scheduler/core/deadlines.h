// What will have to be looked at, and when: at most one moment per job and kind, so that a tick
// costs what is due and not what exists.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/base/time.h"

namespace trainyard::scheduler {

enum class DeadlineKind {
  backoff_over,
  queued_too_long,
  ran_too_long,
  no_progress,
  saves_too_long,
};

struct Deadline {
  Time at;
  JobId job;
  DeadlineKind kind = DeadlineKind::backoff_over;
  auto operator<=>(const Deadline&) const = default;
};

class Deadlines {
 public:
  // Replaces the moment that was armed for this job and kind.
  void arm(const Deadline& deadline);
  void disarm(const JobId& job, DeadlineKind kind);
  void disarm_all(const JobId& job);
  [[nodiscard]] bool armed(const JobId& job, DeadlineKind kind) const;

  [[nodiscard]] bool empty() const { return by_time_.empty(); }

  // Those at or before `now`, earliest first; they are no longer armed.
  std::vector<Deadline> take_due(Time now);

 private:
  std::set<Deadline> by_time_;
  std::map<std::pair<JobId, DeadlineKind>, Time> armed_;
};

}  // namespace trainyard::scheduler
