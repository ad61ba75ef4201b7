// When a parameter server may end, and when it has to: it never outlives its workers, and never
// waits for ever for one that does not come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/time.h"

namespace trainyard::runtime {

class Attendance {
 public:
  struct Limits {
    Millis first_worker;   // until anybody has come
    Millis no_worker;      // nobody is there, but some were
    Millis return_of_one;  // one has left without a goodbye
    Millis late_worker;    // training is over, and some have not said goodbye
  };
  Attendance(const Limits& limits, std::int64_t ranks, Time now);

  void joined(std::int64_t rank);
  void left(std::int64_t rank, Time now);
  void said_goodbye(std::int64_t rank);
  // The chief has said that training is over.
  void finished(Time now);

  struct End {
    bool is_good = false;  // nobody needs this server any more
    std::string why;
  };
  [[nodiscard]] std::optional<End> end(Time now) const;

 private:
  enum class State { not_seen, there, missing, gone };
  struct Rank {
    State state = State::not_seen;
    Time since;
  };
  [[nodiscard]] std::int64_t count(State state) const;

  Limits limits_;
  std::vector<Rank> ranks_;
  Time lonely_since_;
  bool had_worker_ = false;
  std::optional<Time> finished_;
};

}  // namespace trainyard::runtime
