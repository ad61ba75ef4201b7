// When to stop trusting silence. The server may give an agent's slots away once it has heard
// nothing for `lost_after`; so the agent must have ended its tasks before. All times are of the
// agent's own clock.
#pragma once

#include <cstdint>
#include <map>

#include "schemas/base/time.h"

namespace trainyard::agent {

class Lease {
 public:
  // Of which server an agent has the lease that it finds: one that was never heard may be another
  // than the one that gives the slots away, and that nobody listens there says nothing.
  enum class Giver { this_server, unknown };
  explicit Lease(Time renewed_at, Millis stop_after = Millis{60'000},
                 Giver giver = Giver::this_server)
      : renewed_at_(renewed_at), stop_after_(stop_after), giver_(giver) {}

  // A report leaves now; its answer will renew the lease from this moment, not from when the answer
  // comes.
  void sent(std::int64_t number, Time now);

  // The server has answered report `number`, and says how long it may be trusted from then on.
  void answered(std::int64_t number, Millis stop_after);

  // Nobody listens at the server's address, so nobody can give the slots away. A server that
  // returns starts every silence anew.
  void refused(Time now);

  [[nodiscard]] Millis stop_after() const { return stop_after_; }
  [[nodiscard]] Time end() const { return renewed_at_ + stop_after_; }
  [[nodiscard]] bool has_expired(Time now) const { return now >= end(); }

 private:
  Time renewed_at_;
  Millis stop_after_;
  Giver giver_;
  std::map<std::int64_t, Time> sent_;  // reports that may still be answered in time; bounded by age
};

}  // namespace trainyard::agent
