// Connects to addresses, again and again until they answer, on a thread of its own: connecting
// waits.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/net/stream_socket.h"

namespace trainyard::runtime {

class Connector {
 public:
  struct Target {
    std::string local;    // a Unix socket of this host, which is tried first; "": none
    std::string address;  // "host:port"
  };
  // All of them are wanted at first. `on_connected` is called on the connector's thread.
  Connector(std::vector<Target> targets, std::function<void()> on_connected);
  Connector(const Connector&) = delete;
  Connector& operator=(const Connector&) = delete;

  // The connection is lost: another is wanted.
  void want(std::size_t index);
  // Those that are there, each once: which target, and the socket.
  std::vector<std::pair<std::size_t, StreamSocket>> take();

 private:
  void run(const std::stop_token& stop);

  const std::vector<Target> targets_;
  const std::function<void()> on_connected_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<bool> wanted_;                                     // guarded by mutex_
  std::vector<std::pair<std::size_t, StreamSocket>> connected_;  // guarded by mutex_
  std::jthread thread_;                                          // last: it uses all of the above
};

}  // namespace trainyard::runtime
