// The agent: one thread owns the core, feeds it events, performs its actions and shows the server
// its whole state.
#pragma once

#include <mutex>
#include <stop_token>
#include <string>

#include "agent/host/nvml.h"
#include "agent/loop/task_runner.h"
#include "agent/process/lease_file.h"
#include "schemas/base/id.h"
#include "schemas/base/inbox.h"
#include "schemas/base/result.h"
#include "schemas/types/agent.h"

namespace trainyard::agent {

struct DaemonOptions {
  AgentId id;
  std::string server;                       // HOST:PORT of the server's agent endpoint
  std::string work_dir;                     // the agent's own
  std::string runtime;                      // the program that a task runs
  std::string shim;                         // the program that is its parent
  std::string transport = "shared_memory";  // the best that its tasks may try
  std::string listen_host;                  // that its tasks listen at; "" = host.address
  std::vector<std::string> data_roots;      // where jobs may read data; absolute, without links
  std::int64_t log_bytes_max = log_bytes_max_default;  // of each task's log, on this host
  std::int64_t data_cache_mb = 0;                      // for decoded data sets; 0: none are kept
  std::string nvml_library = Nvml::default_library;    // that tells of the GPUs
  HostInfo host;
};

struct StreamConnected {};
struct StreamWritable {};
struct StopRequested {};
// All that can happen to the daemon.
using DaemonEvent =
    std::variant<AgentEvent, RunnerEvent, StreamConnected, StreamWritable, StopRequested>;

class Daemon {
 public:
  explicit Daemon(DaemonOptions options);

  // Works until `stop`; then ends the tasks (gracefully, then not), reports that and returns. An
  // error says why the work folder cannot be used.
  Status run();

  // From any thread, also before `run`.
  void stop();

  // From any thread: every task ends within a second or so, though this process may end at once.
  void end_tasks_now();

 private:
  struct Start;
  class Session;

  void renew(LeaseFile& file, const Lease& lease);

  const DaemonOptions options_;
  std::mutex lease_mutex_;
  bool lease_is_over_ = false;       // guarded by lease_mutex_: nobody writes another
  bool lease_is_unwritten_ = false;  // as well: and it was said
  Inbox<DaemonEvent> inbox_;
  std::stop_source stopped_;  // for what comes before the inbox is read
};

}  // namespace trainyard::agent
