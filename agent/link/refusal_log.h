// Which refusals of the server are worth a line of the log: each new one, and one that goes on once
// a minute. The agent asks again every two seconds, for as long as it takes.
#pragma once

#include <chrono>
#include <string>

namespace trainyard::agent {

class RefusalLog {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // At each refusal, with the server's reason: whether it is to be logged.
  bool take(const std::string& why, Time now) {
    if (why == said_ && now - said_at_ < std::chrono::minutes(1)) return false;
    said_ = why;
    said_at_ = now;
    return true;
  }

  // The server has answered: the next refusal is a new one.
  void forget() { said_.clear(); }

 private:
  std::string said_;  // "" = nothing yet
  Time said_at_;
};

}  // namespace trainyard::agent
