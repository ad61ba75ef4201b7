// Waiting for what another thread or process does. No test sleeps: it waits for a condition, up to
// a deadline.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "tests/environment.h"

namespace trainyard {

// How long a test waits for what must come. Only a test that fails waits so long, so it is far more
// than what a slow machine needs that builds beside it, under a sanitizer, too.
inline constexpr std::chrono::seconds patience{60};

using Deadline = std::chrono::steady_clock::time_point;
inline Deadline in_patience() { return std::chrono::steady_clock::now() + patience; }
// Of programs that run without a sanitizer; those under one get longer.
inline Deadline in_seconds(int count) {
  return std::chrono::steady_clock::now() + std::chrono::seconds(count * slowness);
}
inline bool is_past(Deadline deadline) { return std::chrono::steady_clock::now() >= deadline; }

// Between two looks. A rare look is for conditions whose every look takes time from the programs
// that are waited for.
inline constexpr std::chrono::milliseconds quick_looks{2};
inline constexpr std::chrono::milliseconds rare_looks{20};

// True as soon as the condition holds; false when it does not until the deadline.
template <class Condition>
bool eventually(Condition condition, Deadline deadline = in_patience(),
                std::chrono::milliseconds pause = quick_looks) {
  while (!condition()) {
    if (is_past(deadline)) return false;
    std::this_thread::sleep_for(pause);  // between two looks
  }
  return true;
}

// A value that one thread sets and another waits for. (std::future does as much, but the thread
// sanitizer cannot see into it.)
template <class T>
class Awaited {
 public:
  void set(T value) {
    const std::lock_guard lock(mutex_);
    value_ = std::move(value);
    arrived_.notify_all();
  }
  std::optional<T> wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, patience, [this] { return value_.has_value(); });
    return value_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::optional<T> value_;  // guarded by mutex_
};

}  // namespace trainyard
