// Where workers are served over TCP and a Unix stream socket. One thread moves the bytes of all of
// them, in turns, so that a slow one delays nobody; payloads go between the sockets and the buffers
// that the ps sums from and answers with.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "runtime/net/stream_socket.h"
#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class PsServer;
class StreamCaller;

class StreamPort {
 public:
  // At the interface of `listen`, "host:port", on a port of its own, and at a Unix socket. Port 0
  // is a free one; then one of the two is enough. Serves on a thread of its own when this returns.
  static Result<std::unique_ptr<StreamPort>> open(const std::string& listen, int tcp_port,
                                                  PsServer& server);
  // Waits until the time of close_within() is over.
  ~StreamPort();
  StreamPort(const StreamPort&) = delete;
  StreamPort& operator=(const StreamPort&) = delete;

  [[nodiscard]] int tcp_port() const { return tcp_ ? tcp_->port() : 0; }         // 0: none
  [[nodiscard]] const std::string& unix_socket() const { return unix_socket_; }  // empty: none

  // Takes no new callers, and ends when those that are there have gone, or after `limit`.
  void close_within(std::chrono::milliseconds limit);

 private:
  friend class StreamCaller;
  using Clock = std::chrono::steady_clock;
  using Ready = std::vector<std::shared_ptr<StreamCaller>>;

  StreamPort(Descriptor poll, Descriptor bell, PsServer& server);
  Status listen(const std::string& address, int tcp_port);
  void run(const std::stop_token& stop);
  [[nodiscard]] bool over() const;
  bool watch(int descriptor, std::uint32_t events, int operation) const;
  void accept(const StreamSocket& socket);
  void make_room();
  void serve(int descriptor, std::uint32_t events);
  void read(const std::shared_ptr<StreamCaller>& caller);
  void handle(const std::shared_ptr<StreamCaller>& caller, const Status& status);
  static void hear(StreamCaller& caller, Status status);
  void write(const std::shared_ptr<StreamCaller>& caller);
  bool start_next(StreamCaller& caller) const;
  void ring();
  Ready take_ready();
  void answer_ready();
  void tell_closed(StreamCaller& caller);
  void leave(StreamCaller& caller);
  void rest(const StreamSocket& socket);
  void look_up();  // now and then: drops who is overdue, listens again after a rest

  const Descriptor poll_;  // epoll over all below
  const Descriptor bell_;  // an eventfd: another thread has given them something to send
  PsServer& server_;
  std::optional<StreamSocket> tcp_;
  std::optional<StreamSocket> unix_;
  std::string unix_socket_;
  std::map<int, std::shared_ptr<StreamCaller>> callers_;  // by descriptor
  Ready ready_;                              // have something to send: under the server's lock
  bool at_work_ = false;                     // likewise: who has the lock is the port's thread
  bool resting_ = false;                     // no caller could be accepted: listens no more for now
  bool short_of_room_ = false;               // and that was said
  Clock::time_point looked_ = Clock::now();  // look_up()
  std::atomic<bool> closing_ = false;
  std::atomic<Clock::duration> close_by_{};  // since the clock's epoch; once closing_
  std::jthread thread_;                      // last: it uses all of the above
};

}  // namespace trainyard::runtime
