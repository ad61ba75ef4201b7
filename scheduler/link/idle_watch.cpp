#include "scheduler/link/idle_watch.h"

#include <algorithm>

namespace trainyard::scheduler {

IdleWatch::IdleWatch(Millis limit)
    : limit_(limit.count), thread_([this](const std::stop_token& stop) { run(stop); }) {}

IdleWatch::Call::Call(IdleWatch& watch, grpc::ServerContextBase& call)
    : watch_(watch), call_(call) {
  moved();
}

IdleWatch::Call::~Call() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.moved_.erase(&call_);
}

void IdleWatch::Call::moved() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.moved_[&call_] = Clock::now();
}

void IdleWatch::run(const std::stop_token& stop) {
  const auto look_interval =
      std::clamp(limit_ / 4, std::chrono::milliseconds(10), std::chrono::milliseconds(1000));
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, look_interval, [] { return false; });
    const auto now = Clock::now();
    for (auto& [call, moved] : moved_) {
      if (now - moved < limit_) continue;
      call->TryCancel();
      moved = now;  // it takes a moment to end
    }
  }
}

}  // namespace trainyard::scheduler
