#include "runtime/net/chunks/connector.h"

#include <algorithm>

namespace trainyard::runtime {
namespace {

constexpr std::chrono::milliseconds answer_limit{3000};
constexpr std::chrono::milliseconds pause{50};

Result<StreamSocket> connect(const Connector::Target& target, const std::stop_token& stop) {
  const bool may_be_here = !target.local.empty();
  if (may_be_here) {
    auto local = StreamSocket::connect_unix(target.local);
    if (local.has_value()) return local;
  }
  const auto deadline = StreamSocket::Clock::now() + answer_limit;
  auto tcp = StreamSocket::connect_tcp(target.address, port_of(target.address), deadline, stop);
  if (!may_be_here || !tcp.has_value()) return tcp;
  // A ps has its Unix socket before its port is heard. One that began between the two tries is
  // found now.
  auto local = StreamSocket::connect_unix(target.local);
  return local.has_value() ? std::move(local) : std::move(tcp);
}

}  // namespace

Connector::Connector(std::vector<Target> targets, std::function<void()> on_connected)
    : targets_(std::move(targets)),
      on_connected_(std::move(on_connected)),
      wanted_(targets_.size(), true) {
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Connector::want(std::size_t index) {
  const std::lock_guard lock(mutex_);
  wanted_.at(index) = true;
  changed_.notify_all();
}

std::vector<std::pair<std::size_t, StreamSocket>> Connector::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(connected_, {});
}

void Connector::run(const std::stop_token& stop) {
  using Clock = StreamSocket::Clock;
  std::vector<Clock::time_point> next_tries(targets_.size());
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait(lock, stop, [this] { return std::ranges::find(wanted_, true) != wanted_.end(); });
    for (std::size_t i = 0; i < wanted_.size() && !stop.stop_requested(); ++i) {
      // One that takes connections and closes them is not called without a rest, either.
      if (!wanted_[i] || Clock::now() < next_tries[i]) continue;
      next_tries[i] = Clock::now() + pause;
      lock.unlock();
      auto socket = connect(targets_[i], stop);
      lock.lock();
      if (!socket.has_value()) continue;
      wanted_[i] = false;
      connected_.emplace_back(i, *std::move(socket));
      lock.unlock();
      on_connected_();
      lock.lock();
    }
    if (std::ranges::find(wanted_, true) == wanted_.end()) continue;
    changed_.wait_for(lock, stop, pause, [] { return false; });
  }
}

}  // namespace trainyard::runtime
