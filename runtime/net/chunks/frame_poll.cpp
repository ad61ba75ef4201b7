#include "runtime/net/chunks/frame_poll.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <limits>
#include <utility>

#include "runtime/net/call_failed.h"
#include "runtime/net/waiting.h"

namespace trainyard::runtime {
namespace {

constexpr std::uint64_t bell_key = std::numeric_limits<std::uint64_t>::max();

}  // namespace

FramePoll::FramePoll(Descriptor poll, Descriptor bell, Reports reports)
    : poll_(std::move(poll)), bell_(std::move(bell)), reports_(reports) {}

Result<FramePoll> FramePoll::open(Reports reports) {
  Descriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll || !bell) return call_failed("cannot wait for sockets");
  FramePoll poll(std::move(epoll), std::move(bell), reports);
  TRY(poll.add(poll.bell_.get(), bell_key));
  return poll;
}

bool FramePoll::control(int operation, int descriptor, std::uint64_t key, Room room) const {
  const bool is_once = reports_ == Reports::once;
  epoll_event event{.events = EPOLLIN | (is_once ? EPOLLRDHUP | EPOLLET : 0U) |
                              (room == Room::watched ? EPOLLOUT : 0U),
                    .data = {.u64 = key}};
  return ::epoll_ctl(poll_.get(), operation, descriptor, &event) == 0;
}

Status FramePoll::add(int descriptor, std::uint64_t key) const {
  if (control(EPOLL_CTL_ADD, descriptor, key, Room::ignored)) return ok();
  return call_failed("cannot wait for sockets");
}

Status FramePoll::watch(int descriptor, std::uint64_t key, Room room) const {
  if (control(EPOLL_CTL_MOD, descriptor, key, room)) return ok();
  return call_failed("cannot wait for room");
}

std::span<const FramePoll::Event> FramePoll::wait(Events& events) const {
  constexpr std::uint32_t ends = EPOLLRDHUP | EPOLLHUP | EPOLLERR;
  std::array<epoll_event, std::tuple_size_v<Events>> found{};
  const int count = ::epoll_wait(poll_.get(), found.data(), std::ssize(found), look_up_millis);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = found[static_cast<std::size_t>(i)].data.u64;
    const std::uint32_t bits = found[static_cast<std::size_t>(i)].events;
    const bool is_bell = key == bell_key;
    events[static_cast<std::size_t>(i)] = {
        .key = key,
        .is_bell = is_bell,
        .has_room = (bits & EPOLLOUT) != 0,
        .has_input = (bits & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0,
        .is_end = (bits & ends) != 0};
    std::uint64_t rung = 0;
    if (is_bell) static_cast<void>(::read(bell_.get(), &rung, sizeof rung) != 0);
  }
  return std::span(events).first(count > 0 ? static_cast<std::size_t>(count) : 0);
}

void FramePoll::ring() const {
  const std::uint64_t one = 1;
  // A bell that is full has rung.
  static_cast<void>(::write(bell_.get(), &one, sizeof one) != 0);
}

}  // namespace trainyard::runtime
