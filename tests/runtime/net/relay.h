// A TCP port on 127.0.0.2 that passes all on to another address, as a firewall does that lets one
// port through: what else a ps listens at on 127.0.0.1 is not there for its callers.
#pragma once

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <limits>
#include <list>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

#include "schemas/base/check.h"
#include "schemas/base/descriptor.h"

namespace trainyard::runtime::test {

// What may still pass, of all connections together.
class Flow {
 public:
  // Bytes to take at once; 0 once the way is cut.
  std::size_t room(const std::stop_token& stop, std::size_t max) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, stop, [this] { return left_ > 0 || is_cut_; });
    return is_cut_ ? 0 : std::min(max, left_);
  }
  void take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    left_ -= bytes;
  }
  void leave(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    left_ = bytes;
    changed_.notify_all();
  }
  void cut() {
    const std::lock_guard lock(mutex_);
    is_cut_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::size_t left_ = std::numeric_limits<std::size_t>::max();
  bool is_cut_ = false;
};

struct RelayOptions {
  std::chrono::milliseconds latency{};  // of each new connection, as by a host with much to do
  int port = 0;                         // to listen at; 0 = of the OS' choice
};

class Relay {
 public:
  // To `address`, "127.0.0.1:port".
  explicit Relay(const std::string& address, RelayOptions options = {})
      : latency_(options.latency),
        to_port_(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)))),
        listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here = at("127.0.0.2", static_cast<std::uint16_t>(options.port));
    socklen_t length = sizeof here;
    auto* const generic = reinterpret_cast<sockaddr*>(&here);
    ENSURE(::bind(listener_.get(), generic, length) == 0 && ::listen(listener_.get(), 16) == 0);
    ENSURE(::getsockname(listener_.get(), generic, &length) == 0);
    address_ = "127.0.0.2:" + std::to_string(ntohs(here.sin_port));
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] const std::string& address() const { return address_; }
  // Of what the other address answers, no more than so many bytes come through from now on.
  void let_answer(std::size_t bytes) { down_.leave(bytes); }
  // As if the other address were gone.
  void cut() { down_.cut(); }

 private:
  static sockaddr_in at(const char* host, std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    ENSURE(::inet_pton(AF_INET, host, &address.sin_addr) == 1);
    return address;
  }
  static bool is_ready(int descriptor) {
    pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
    return ::poll(&waiting, 1, 50) > 0;
  }
  // Until one end closes, or the flow is cut.
  static void pass(int from, int to, Flow& flow, const std::stop_token& stop) {
    std::array<char, 65536> bytes;
    while (!stop.stop_requested()) {
      const std::size_t room = flow.room(stop, bytes.size());
      if (room == 0) break;
      if (!is_ready(from)) continue;
      const ssize_t count = ::recv(from, bytes.data(), room, 0);
      if (count <= 0) break;
      flow.take(static_cast<std::size_t>(count));
      for (ssize_t sent = 0; sent < count;) {
        const auto left = static_cast<std::size_t>(count - sent);
        const ssize_t more = ::send(to, bytes.data() + sent, left, MSG_NOSIGNAL);
        if (more <= 0) return;
        sent += more;
      }
    }
    ::shutdown(to, SHUT_WR);
  }

  // Until the latency is over, or the caller gives up.
  static void hold(int near, std::chrono::milliseconds latency) {
    pollfd waiting{.fd = near, .events = POLLRDHUP, .revents = 0};
    ::poll(&waiting, 1, static_cast<int>(latency.count()));
  }

  struct Pair {
    Descriptor near;
    Descriptor far;
    std::jthread up;
    std::jthread down;
  };

  void run(const std::stop_token& stop) {
    std::list<Pair> pairs;
    while (!stop.stop_requested()) {
      if (!is_ready(listener_.get())) continue;
      Pair& pair = pairs.emplace_back();
      pair.near = Descriptor(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      pair.far = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const sockaddr_in there = at("127.0.0.1", to_port_);
      if (::connect(pair.far.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0) {
        pairs.pop_back();
        continue;
      }
      pair.up = std::jthread([this, &pair](const std::stop_token& over) {
        hold(pair.near.get(), latency_);
        pass(pair.near.get(), pair.far.get(), up_, over);
      });
      pair.down = std::jthread([this, &pair](const std::stop_token& over) {
        pass(pair.far.get(), pair.near.get(), down_, over);
      });
    }
  }

  const std::chrono::milliseconds latency_;
  const std::uint16_t to_port_;
  Descriptor listener_;
  std::string address_;
  Flow up_;
  Flow down_;
  std::jthread thread_;
};

}  // namespace trainyard::runtime::test
