#include "runtime/net/parameter_receiver.h"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "runtime/net/waiting.h"
namespace trainyard::runtime {

ParameterReceiver::ParameterReceiver()
    : thread_([this](const std::stop_token& stop) { run(stop); }) {}

void ParameterReceiver::start(std::vector<StreamLane*> lanes) {
  {
    const std::lock_guard lock(mutex_);
    lanes_ = std::move(lanes);
    failure_.reset();
    works_ = true;
  }
  changed_.notify_all();
}

bool ParameterReceiver::wait(std::span<const Need> needed, std::chrono::milliseconds limit) {
  const auto have_come = [needed] {
    return std::ranges::all_of(needed,
                               [](const Need& need) { return need.lane->has_come(need.bytes); });
  };
  if (have_come()) return true;
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [&] { return failure_ || have_come(); });
}

void ParameterReceiver::wait_until_idle() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !works_; });
}

std::optional<ParameterReceiver::Failure> ParameterReceiver::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void ParameterReceiver::run(const std::stop_token& stop) {
  for (;;) {
    std::vector<StreamLane*> lanes;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return works_; })) return;
      lanes = std::move(lanes_);
    }
    receive(stop, std::move(lanes));
    {
      const std::lock_guard lock(mutex_);
      works_ = false;
    }
    changed_.notify_all();
  }
}

void ParameterReceiver::receive(const std::stop_token& stop, std::vector<StreamLane*> lanes) {
  while (!lanes.empty() && !stop.stop_requested()) {
    std::vector<pollfd> watched;
    for (const StreamLane* lane : lanes) {
      watched.push_back({.fd = lane->descriptor(), .events = POLLIN, .revents = 0});
    }
    if (::poll(watched.data(), watched.size(), look_up_millis) <= 0) continue;
    std::vector<StreamLane*> arriving;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const Status received = watched[i].revents != 0 ? lanes[i]->receive_more() : ok();
      if (watched[i].revents != 0) note(lanes[i], received);
      if (received.has_value() && lanes[i]->is_arriving()) arriving.push_back(lanes[i]);
    }
    lanes = std::move(arriving);
  }
}

// Under the lock, so that nobody misses it between a look and a wait.
void ParameterReceiver::note(const StreamLane* lane, const Status& received) {
  {
    const std::lock_guard lock(mutex_);
    if (!received.has_value() && !failure_) failure_ = Failure{lane, received.error()};
  }
  changed_.notify_all();
}

}  // namespace trainyard::runtime
