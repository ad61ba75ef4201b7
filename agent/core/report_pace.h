// When reports leave: at regular times and soon after a change. What is not acknowledged is in each
// report again: a busy server would be given the same events to read over and over, and its answers
// would come later and later, at last too late for the lease. So behind a report of many events
// none leaves until that one is answered, or for some seconds. Pure: the caller has the clock.
#pragma once

#include <cstdint>

#include "schemas/base/time.h"
#include "schemas/types/agent.h"

namespace trainyard::agent {

class ReportPace {
 public:
  // A new stream: it has room, and what left by the old one is not waited for.
  void connected(Time now);
  void room_came() { has_room_ = true; }

  // There is something new to report.
  void hurry(Time now);
  // Tried, and perhaps in vain: the stream had ended. It has no room until it says so.
  void tried() { has_room_ = false; }
  void left(const AgentReport& report, Time now);
  void answered(std::int64_t number);  // of the newest report that the server has taken

  [[nodiscard]] bool is_answered(std::int64_t number) const { return answered_ >= number; }
  [[nodiscard]] bool is_due(Time now) const { return has_room_ && now >= next(); }
  // From when on a report is due; `latest` if that is sooner, or while there is no room.
  [[nodiscard]] Time due(Time latest) const;

 private:
  [[nodiscard]] Time next() const;

  bool has_room_ = false;
  Time wanted_at_;
  Time left_at_;               // when the newest report left
  std::int64_t awaited_ = 0;   // its number if it has many events, until it is answered: else 0
  std::int64_t answered_ = 0;  // number of the newest report known to be answered
};

}  // namespace trainyard::agent
