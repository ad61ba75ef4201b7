// The writer thread's loop.
#include "api/http/writer.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/http/connection.h"
#include "schemas/base/check.h"

namespace trainyard::api {
namespace {

// How long one wait lasts at most: stop(), deadlines and heartbeats are looked at this often.
constexpr int poll_millis = 100;

}  // namespace

Writer::Writer(Options options) : options_(options), poll_(::epoll_create1(EPOLL_CLOEXEC)) {
  ENSURE(poll_);
}

Writer::~Writer() { stop(std::chrono::milliseconds(0)); }

void Writer::start() {
  next_beat_ = Clock::now() + options_.heartbeat_every;
  thread_ = std::thread([this] { run(); });
}

void Writer::stop(std::chrono::milliseconds patience) {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    give_up_ = Clock::now() + patience;
  }
  if (thread_.joinable()) thread_.join();
  std::unordered_map<int, Unfinished> rest;
  {
    const std::lock_guard lock(mutex_);
    rest.swap(unfinished_);
  }
  for (const auto& [socket, unfinished] : rest) unfinished.connection->drop();
}

void Writer::finish(std::shared_ptr<Connection> connection) {
  const int socket = connection->socket();
  const std::lock_guard lock(mutex_);
  epoll_event event{};
  event.events = EPOLLOUT;
  event.data.fd = socket;
  Unfinished& unfinished = unfinished_[socket];
  unfinished = {.connection = std::move(connection), .deadline = {}, .again = true};
  set_deadline(unfinished);
  ::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, socket, &event);
}

void Writer::set_deadline(Unfinished& unfinished) const {
  unfinished.deadline = Clock::now() + options_.stall_limit;
  unfinished.unacknowledged = unfinished.connection->unacknowledged();
}

void Writer::beat(std::weak_ptr<Beating> stream) {
  const std::lock_guard lock(mutex_);
  streams_.push_back(std::move(stream));
}

void Writer::run() {
  for (Clock::time_point now = Clock::now(); !is_done(now); now = Clock::now()) {
    flush_ready();
    drop_stalled(now);
    if (now >= next_beat_) beat_all(now);
  }
}

bool Writer::is_done(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  return stopping_ && (unfinished_.empty() || now >= give_up_);
}

void Writer::flush_ready() {
  std::array<epoll_event, 64> ready{};
  const int count =
      ::epoll_wait(poll_.get(), ready.data(), static_cast<int>(ready.size()), poll_millis);
  for (int at = 0; at < count; ++at) {
    const int socket = ready.at(static_cast<std::size_t>(at)).data.fd;
    std::shared_ptr<Connection> connection;
    {
      const std::lock_guard lock(mutex_);
      const auto found = unfinished_.find(socket);
      if (found == unfinished_.end()) continue;
      connection = found->second.connection;
      found->second.again = false;
    }
    const Connection::Flushed flushed = connection->flush();
    const bool over = flushed == Connection::Flushed::all || flushed == Connection::Flushed::failed;
    const std::lock_guard lock(mutex_);
    const auto found = unfinished_.find(socket);
    if (over && !found->second.again) {
      ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, socket, nullptr);
      unfinished_.erase(found);
    } else if (flushed == Connection::Flushed::some) {
      set_deadline(found->second);
    }
  }
}

void Writer::drop_stalled(Clock::time_point now) {
  std::vector<std::shared_ptr<Connection>> stalled;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = unfinished_.begin(); at != unfinished_.end();) {
      // A socket takes more only when a third of its buffer is free, which a slow reader may need
      // minutes for: what it has acknowledged meanwhile counts too.
      Unfinished& one = at->second;
      const bool reads =
          now >= one.deadline && one.connection->unacknowledged() < one.unacknowledged;
      if (reads) set_deadline(one);
      if (reads || now < one.deadline) {
        ++at;
        continue;
      }
      ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, at->first, nullptr);
      stalled.push_back(std::move(at->second.connection));
      at = unfinished_.erase(at);
    }
  }
  for (const auto& connection : stalled) connection->drop();
}

void Writer::beat_all(Clock::time_point now) {
  next_beat_ = now + options_.heartbeat_every;
  std::vector<std::shared_ptr<Beating>> alive;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(streams_, [&](const std::weak_ptr<Beating>& stream) {
      auto held = stream.lock();
      if (!held) return true;
      alive.push_back(std::move(held));
      return false;
    });
  }
  for (const auto& stream : alive) stream->beat();
}

}  // namespace trainyard::api
