// Where workers on the ps' own host are served: packets over a Unix socket say what is where, the
// tensors stay in memory that both map. The ps sums straight from a worker's gradient, a worker
// reads the ps' weights in place.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "runtime/core/chunk_plan.h"
#include "runtime/net/packet_socket.h"

namespace trainyard::runtime {

class PsServer;

class SharedPort {
 public:
  // What the ps holds of each gradient in a worker's memory.
  struct Held {
    Share share;
    std::int64_t arena_elements = 0;
  };
  // Serves on a thread of its own when this returns.
  static Result<std::unique_ptr<SharedPort>> open(const std::string& name, Held held,
                                                  PsServer& server);
  ~SharedPort();
  SharedPort(const SharedPort&) = delete;
  SharedPort& operator=(const SharedPort&) = delete;

 private:
  class Caller;

  SharedPort(PacketSocket socket, Descriptor poll, Held held, PsServer& server);
  void run(const std::stop_token& stop);
  void accept();
  void rest();
  void look_up();
  void serve(std::shared_ptr<Caller> caller);
  Status take(Caller& caller, Packet packet);
  bool watch(int descriptor, std::uint32_t events, int operation);

  const PacketSocket socket_;
  const Descriptor poll_;  // epoll over the socket and all callers
  const Held held_;
  PsServer& server_;
  std::map<int, std::shared_ptr<Caller>> callers_;  // by descriptor
  // No caller could be accepted: until then it listens no more.
  std::optional<std::chrono::steady_clock::time_point> rests_until_;
  std::jthread thread_;  // last: it uses all of the above
};

}  // namespace trainyard::runtime
