// The thread that finishes what did not fit into a socket at once, drops clients that stop reading,
// and beats the hearts of idle event streams. Nobody else ever waits for a client.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "schemas/base/descriptor.h"

namespace trainyard::api {

class Connection;

// Something that wants to be called at a regular interval for as long as it lives.
class Beating {
 public:
  virtual ~Beating() = default;
  virtual void beat() = 0;
};

class Writer {
 public:
  struct Options {
    std::chrono::milliseconds stall_limit;  // a client that takes nothing for so long is dropped
    std::chrono::milliseconds heartbeat_every;
  };
  explicit Writer(Options options);
  ~Writer();  // stop()

  void start();
  // Goes on until all that waits is sent or `patience` is over, then drops the rest.
  void stop(std::chrono::milliseconds patience);

  void finish(std::shared_ptr<Connection> connection);
  void beat(std::weak_ptr<Beating> stream);

 private:
  using Clock = std::chrono::steady_clock;
  struct Unfinished {
    std::shared_ptr<Connection> connection;
    Clock::time_point deadline;  // taken on whenever the client takes something
    int unacknowledged = 0;      // when the deadline was set
    bool again = false;          // handed over once more while the thread was flushing it
  };
  void set_deadline(Unfinished& unfinished) const;
  void run();
  void flush_ready();
  void drop_stalled(Clock::time_point now);
  void beat_all(Clock::time_point now);
  [[nodiscard]] bool is_done(Clock::time_point now);

  const Options options_;
  Descriptor poll_;
  std::mutex mutex_;
  // guarded by mutex_; one entry per connection at most, so bounded by the limit of connections
  std::unordered_map<int, Unfinished> unfinished_;
  std::vector<std::weak_ptr<Beating>> streams_;
  bool stopping_ = false;
  Clock::time_point give_up_;

  Clock::time_point next_beat_;  // the thread's alone
  std::thread thread_;
};

}  // namespace trainyard::api
