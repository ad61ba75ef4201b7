#include "runtime/net/gradient_sender.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/net/call_failed.h"
#include "runtime/net/waiting.h"
namespace trainyard::runtime {

Result<std::unique_ptr<GradientSender>> GradientSender::create() {
  Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) return call_failed("eventfd");
  return std::unique_ptr<GradientSender>(new GradientSender(std::move(bell)));
}

GradientSender::GradientSender(Descriptor bell)
    : bell_(std::move(bell)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

GradientSender::~GradientSender() { stop(); }

void GradientSender::start(std::vector<StreamLane*> lanes) {
  {
    const std::lock_guard lock(mutex_);
    lanes_ = std::move(lanes);
    works_ = true;
  }
  changed_.notify_all();
}

void GradientSender::ring() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto rung = ::write(bell_.get(), &one, sizeof one);
}

void GradientSender::stop() {
  stopping_ = true;
  ring();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !works_; });
  stopping_ = false;
}

void GradientSender::run(const std::stop_token& stop) {
  for (;;) {
    std::vector<StreamLane*> lanes;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return works_; })) return;
      lanes = lanes_;
    }
    while (!stopping_) send_released(lanes);
    {
      const std::lock_guard lock(mutex_);
      works_ = false;
    }
    changed_.notify_all();
  }
}

void GradientSender::send_released(std::vector<StreamLane*>& lanes) {
  std::vector<pollfd> watched{{.fd = bell_.get(), .events = POLLIN, .revents = 0}};
  for (const StreamLane* lane : lanes) {
    const short events = lane->can_send() ? POLLOUT : short{0};
    watched.push_back(
        {.fd = events == 0 ? -1 : lane->descriptor(), .events = events, .revents = 0});
  }
  if (::poll(watched.data(), watched.size(), look_up_millis) <= 0) return;
  std::uint64_t rings = 0;
  if (watched.front().revents != 0) {
    [[maybe_unused]] const auto heard = ::read(bell_.get(), &rings, sizeof rings);
  }
  std::vector<StreamLane*> working;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const bool ready = watched[i + 1].revents != 0;
    if (!ready || lanes[i]->send_on().has_value()) working.push_back(lanes[i]);
  }
  lanes = std::move(working);
}

}  // namespace trainyard::runtime
