// Performs what the agent's core decides about tasks: fetches, starts, signals, follows and
// delivers them, and says what came of it as events for the core. Used by one thread, the daemon's;
// its own threads only post.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agent/core/agent.h"
#include "agent/host/task_process.h"
#include "agent/host/workdir.h"
#include "agent/link/server_calls.h"
#include "agent/loop/event_tail.h"
#include "agent/loop/file_uploader.h"
#include "agent/loop/found_tasks.h"
#include "agent/loop/log_shipper.h"
#include "agent/loop/restore_fetcher.h"
#include "agent/loop/task_starter.h"

namespace trainyard::agent {

struct RestoreFetched {
  TaskKey key;
  Status status;
};
struct TaskLaunched {
  TaskKey key;
  Result<TaskProcess> started;
};
struct ProcessGone {
  TaskKey key;
  TaskEnd end;
};
// A part of what a finished task has written is at the server.
struct PartDelivered {
  TaskKey key;
  enum class Part { events, files, log } part = Part::events;
};
// What the runner's threads say to the runner itself.
using RunnerEvent = std::variant<RestoreFetched, TaskLaunched, ProcessGone, PartDelivered>;

struct RunnerOptions {
  std::string server;                                  // HOST:PORT
  std::string runtime;                                 // the program that a task runs
  std::string shim;                                    // the program that is its parent
  std::string transport;                               // the best that it may try
  std::string listen_host;                             // where it listens, if it does
  std::vector<std::string> data_roots;                 // where it may read data; empty = anywhere
  std::int64_t log_bytes_max = log_bytes_max_default;  // of each task's log, on this host
  std::vector<std::string> allowed_env;  // that jobs may set besides (schemas/types/env_names.h)
  DataCacheSpec data_cache;
  std::vector<GpuInfo> gpus = {};  // of this host
};

struct RunnerCallbacks {
  std::function<void(RunnerEvent)> on_event;
  std::function<bool(RunEventsRead)>
      on_run_events;  // false: too many are waiting, offer them again
};

class TaskRunner {
 public:
  TaskRunner(RunnerOptions options, const Workdir& workdir, RunnerCallbacks callbacks);
  ~TaskRunner();  // kills what still runs, and waits until it is gone
  TaskRunner(const TaskRunner&) = delete;
  TaskRunner& operator=(const TaskRunner&) = delete;

  void run();

  // Goes on with a task of an earlier start; what it is for the core. Its end, where it has ended,
  // comes through `handle`.
  TaskFound go_on(const FoundTask& found);

  // Each returns what the core is to be told at once; the rest comes through `handle`.
  std::vector<AgentEvent> start(const WantedTask& wanted, const Now& now);
  std::vector<AgentEvent> restart(const RestartTask& order, const Now& now);
  void deliver(const TaskKey& key);  // of a task whose process is gone
  std::vector<AgentEvent> stop(const StopTask& order);
  // Leaves the order in the task's folder, where its process finds it, whenever that begins.
  void save(const TaskKey& key);
  std::vector<AgentEvent> handle(const RunnerEvent& event, const Now& now);

  void forget(const TaskKey& key);
  // The run events of the task are durable at the server up to `end`.
  void stored(const TaskKey& key, std::int64_t end);

  // Asks every task to end, and kills those that outlive their grace (see `tick`); starts no more.
  std::vector<AgentEvent> shut_down(const Now& now);
  void tick(const Now& now);
  [[nodiscard]] bool has_processes() const;

 private:
  using Part = PartDelivered::Part;
  struct Task {
    WantedTask wanted;
    TaskFiles files;
    enum class Stage { fetching, starting, running, ended, delivering, done };
    Stage stage = Stage::fetching;
    std::int64_t shim = 0;  // its pid
    std::int64_t returns = 0;
    WallTime started_at;  // the first time
    std::set<Part> undelivered;
    std::optional<Time> kill_at;  // while the agent shuts down
  };

  std::vector<AgentEvent> launch(Task& task, const Now& now);
  static AgentEvent start_failed(Task& task, Reason reason, std::string message);
  static AgentEvent start_failed_in_shutdown(Task& task);
  std::vector<AgentEvent> on_launched(const TaskLaunched& launched, const Now& now);
  AgentEvent on_process_gone(const ProcessGone& gone, const Now& now);
  std::vector<AgentEvent> on_delivered(const PartDelivered& delivered);
  void ask_to_end(Task& task, const Now& now);  // while the agent shuts down
  bool pass_on(const TailedEvents& events);     // on the event tail's thread

  const RunnerOptions options_;
  const Workdir& workdir_;
  const RunnerCallbacks callbacks_;
  std::map<TaskKey, Task> tasks_;
  bool shutting_down_ = false;

  ServerCalls server_;
  // Declared after what they use: each one's thread ends before.
  FileUploader uploader_;
  LogShipper log_shipper_;
  RestoreFetcher fetcher_;
  EventTail event_tail_;
  TaskProcesses processes_;
  TaskStarter starter_;
};

}  // namespace trainyard::agent
