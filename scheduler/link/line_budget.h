// How many lines of the log strangers may cause: a few a minute tell what goes on, and nobody fills
// a disk from outside.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace trainyard::scheduler {

class LineBudget {
 public:
  // Nothing: this line is one too many. Else how many were left out before it.
  std::optional<std::int64_t> take(std::chrono::steady_clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (now - minute_ >= std::chrono::minutes(1)) {
      minute_ = now;
      lines_ = 0;
    }
    if (lines_ == lines_max) {
      ++left_out_;
      return std::nullopt;
    }
    ++lines_;
    return std::exchange(left_out_, 0);
  }

 private:
  static constexpr std::int64_t lines_max = 60;  // of a minute

  std::mutex mutex_;
  std::chrono::steady_clock::time_point minute_;  // guarded by mutex_: its start
  std::int64_t lines_ = 0;                        // guarded by mutex_: of the minute
  std::int64_t left_out_ = 0;                     // guarded by mutex_
};

}  // namespace trainyard::scheduler
