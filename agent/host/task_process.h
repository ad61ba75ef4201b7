// The processes of tasks. Each has a shim (agent/shim) as its parent, which goes on when this agent
// dies, and keeps how the task ended until the next agent asks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "agent/host/process.h"
#include "agent/process/task_records.h"
#include "schemas/base/result.h"

namespace trainyard::agent {

struct TaskStart {
  ProcessSpec program;       // in the task's folder
  std::int64_t returns = 0;  // how often the task was started before
  WallTime started_at;       // the first time
};

struct TaskProcess {
  std::int64_t shim = 0;  // its pid, for `terminate` and `kill`
  std::int64_t pid = 0;   // the task's own, which is also the number of its group
};

struct TaskEnd {
  ExitStatus exit;
  Killing killing = Killing::none;
  bool outlived_lease = false;
  bool was_told = false;   // by this agent or an earlier one
  bool lost_shim = false;  // which was killed; with it, by the kernel, the task
  std::optional<WallTime> time;
};

class TaskProcesses {
 public:
  // Called on a thread of its own, once per task, when all of its group is gone.
  using OnEnd = std::function<void(const TaskEnd& end)>;

  // `shim`: the program; `lease_file`: agent/process/lease_file.h.
  TaskProcesses(std::string shim, std::string lease_file)
      : shim_(std::move(shim)), lease_file_(std::move(lease_file)) {}

  // Called within `start`, before `on_end` may be.
  using OnStarted = std::function<void(const TaskProcess& process)>;

  // An error says why it could not be started; then neither is ever called. Waits for the shim, ten
  // seconds at most.
  Result<TaskProcess> start(const TaskStart& task, OnEnd on_end, const OnStarted& on_started = {});

  // One that an earlier agent has started in the folder, and which may have ended since.
  void watch(const std::string& folder, const ProcessName& shim, OnEnd on_end);

  void terminate(std::int64_t shim);  // SIGTERM to all of the task
  void kill(std::int64_t shim);

 private:
  const std::string shim_;
  const std::string lease_file_;
  ProcessHost host_;
};

}  // namespace trainyard::agent
