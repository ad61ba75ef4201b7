// How fast agents that are not known yet may register: so many in a minute in all, and so many from
// one address. Agents that are known come and go as they like.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "schemas/base/result.h"
#include "schemas/base/time.h"

namespace trainyard::scheduler {

struct RegistrationLimits {
  std::int64_t per_minute = 600;
  std::int64_t per_minute_of_address = 200;
};

class Registrations {
 public:
  explicit Registrations(const RegistrationLimits& limits) : limits_(limits) {}

  // Counts it, or says that it is one too many now (`unavailable`). Remembers a minute.
  Status admit(const std::string& address, Time now);

 private:
  void forget_before(Time start);

  const RegistrationLimits limits_;
  std::deque<std::pair<Time, std::string>> newest_;  // at most per_minute
  std::map<std::string, std::int64_t> of_address_;   // of those in newest_
};

}  // namespace trainyard::scheduler
