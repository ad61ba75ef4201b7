// How long to keep trying to hand something to the server: for ever while it may be away, not at
// all once it has refused for good.
#pragma once

#include <algorithm>
#include <chrono>

#include "schemas/base/result.h"

namespace trainyard::agent {

class Retry {
 public:
  // Whether the error is the end of it. A server that fails on its own account gets a few more
  // chances: what it can never take must not keep a task from ending.
  [[nodiscard]] bool gives_up_after(const Error& error) {
    switch (error.code) {
      case Code::unavailable: return false;
      case Code::internal: return ++internal_errors_ >= internal_errors_max;
      case Code::invalid:
      case Code::not_found:
      case Code::conflict: return true;
    }
    return true;
  }

  // Before the next try; grows from 100 ms to 2 s.
  std::chrono::milliseconds next_pause() {
    const auto pause = pause_;
    pause_ = std::min(pause_ * 2, longest_pause);
    return pause;
  }

 private:
  static constexpr int internal_errors_max = 5;
  static constexpr std::chrono::milliseconds longest_pause{2000};

  int internal_errors_ = 0;
  std::chrono::milliseconds pause_{100};
};

}  // namespace trainyard::agent
