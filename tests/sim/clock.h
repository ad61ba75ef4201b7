// Virtual time: what happens next, in order. Nothing runs but through here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "schemas/base/time.h"

namespace trainyard::sim {

class Clock {
 public:
  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] WallTime wall() const { return WallTime{1'700'000'000'000} + Millis{now_.millis}; }

  void after(Millis wait, std::function<void()> what) {
    queue_.emplace(std::pair{now_ + wait, ++count_}, std::move(what));
  }

  // Does what is next; what is due at the same time goes in the order it was asked for.
  void advance() {
    auto next = queue_.extract(queue_.begin());
    now_ = next.key().first;
    next.mapped()();
  }

 private:
  Time now_{1000};
  std::uint64_t count_ = 0;
  std::map<std::pair<Time, std::uint64_t>, std::function<void()>> queue_;
};

}  // namespace trainyard::sim
