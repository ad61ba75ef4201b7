// A way to an address that is cut now and then: each connection ends after so many bytes, of both
// directions together, until all cuts are made.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/net/stream_socket.h"
#include "schemas/base/check.h"

namespace trainyard::runtime::test {

class Shears {
 public:
  struct Rules {
    int cuts = 3;
    int bytes_max = 100'000;
    int seed = 1;
  };
  Shears(std::string address, const Rules& rules)
      : to_(std::move(address)), rules_(rules), listener_(listen()) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }

  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(listener_.port());
  }
  [[nodiscard]] int cuts() const { return cuts_; }

 private:
  static StreamSocket listen() {
    auto listener = StreamSocket::listen_tcp("127.0.0.1:0");
    ENSURE(listener.has_value());
    return *std::move(listener);
  }

  void run(const std::stop_token& stop) {
    std::mt19937 random(static_cast<unsigned>(rules_.seed));
    std::vector<std::jthread> pairs;
    while (!stop.stop_requested()) {
      pollfd waiting{.fd = listener_.descriptor(), .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, 50) <= 0) continue;
      auto near = listener_.accept();
      const int port = std::stoi(to_.substr(to_.rfind(':') + 1));
      const auto deadline = StreamSocket::Clock::now() + std::chrono::seconds(10);
      auto far = StreamSocket::connect_tcp(to_, port, deadline, stop);
      if (!near || !far.has_value()) continue;
      const long limit = 1 + static_cast<long>(random() % static_cast<unsigned>(rules_.bytes_max));
      pairs.emplace_back([this, limit, near = *std::move(near), far = *std::move(far)](
                             const std::stop_token& over) { pass(near, far, limit, over); });
    }
  }

  // Until one end closes or the limit is passed; then both are closed.
  void pass(const StreamSocket& near, const StreamSocket& far, long limit,
            const std::stop_token& stop) {
    std::array<char, 16384> room;
    std::array<pollfd, 2> ends{pollfd{near.descriptor(), POLLIN, 0},
                               pollfd{far.descriptor(), POLLIN, 0}};
    while (!stop.stop_requested()) {
      if (::poll(ends.data(), ends.size(), 50) <= 0) continue;
      for (std::size_t i = 0; i < ends.size(); ++i) {
        if (ends[i].revents == 0) continue;
        const ssize_t count = ::recv(ends[i].fd, room.data(), room.size(), 0);
        if (count <= 0) return;
        limit -= count;
        if (limit < 0 && cuts_.fetch_add(1) < rules_.cuts) return;
        if (!send_all(ends[1 - i].fd, {room.data(), static_cast<std::size_t>(count)})) return;
      }
    }
  }
  static bool send_all(int descriptor, std::span<const char> bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN) return false;
      if (sent < 0) {
        pollfd waiting{.fd = descriptor, .events = POLLOUT, .revents = 0};
        ::poll(&waiting, 1, 50);
        continue;
      }
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
    return true;
  }

  const std::string to_;
  const Rules rules_;
  std::atomic<int> cuts_ = 0;
  const StreamSocket listener_;
  std::jthread thread_;
};

}  // namespace trainyard::runtime::test
