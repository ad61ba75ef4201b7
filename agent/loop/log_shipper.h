// Ships the log of every task to the server while it grows, so that it outlives this host; and
// bounds it on this host's disk.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "agent/link/server_calls.h"
#include "agent/loop/log_bound.h"
#include "agent/loop/retry.h"
#include "agent/loop/task_files.h"
#include "schemas/types/task.h"

namespace trainyard::agent {

class LogShipper {
 public:
  // Called on the shipper's thread: all of a finished task's log is stored, or refused for good.
  using OnEnd = std::function<void(const TaskKey& key)>;

  // `bytes_max`: of each log, on this host.
  LogShipper(ServerCalls& server, std::int64_t bytes_max, OnEnd on_end);
  ~LogShipper();  // stop(); the server's calls must have been cancelled for it to be quick
  LogShipper(const LogShipper&) = delete;
  LogShipper& operator=(const LogShipper&) = delete;

  void run();
  void stop();

  void add(const TaskFiles& task);
  void finish(const TaskKey& key);  // the process is gone: nothing is written any more
  void forget(const TaskKey& key);

 private:
  struct Shipping {
    TaskFiles task;
    std::int64_t offset = 0;  // stored up to here; beyond its limit the server drops, and says so
    LogCut cut;
    Retry retry;
    bool refused = false;    // for good
    bool unbounded = false;  // the file system cannot cut
    bool finished = false;
  };
  enum class Outcome { nothing_new, more, unreachable };

  void work(const std::stop_token& stop);
  void bound(const std::stop_token& stop);
  void bound_all();
  void bound_one(const TaskKey& key, Shipping& shipping) const;
  Outcome ship_piece(const Shipping& shipping);
  void note_stored(const TaskKey& key, std::int64_t stored);
  // True when the log is given up.
  bool note_failure(const TaskKey& key, const Error& error);

  ServerCalls& server_;
  const std::int64_t bytes_max_;
  const OnEnd on_end_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::condition_variable_any bound_next_;
  bool hurry_ = false;                // guarded by mutex_: a task waits for its log's end
  std::map<TaskKey, Shipping> logs_;  // guarded by mutex_, one per task of this agent
  std::jthread thread_;
  std::jthread bounding_;  // of its own: a call to the server may take long
};

}  // namespace trainyard::agent
