// A task attempt: one process of one run of a gang.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/base/time.h"
#include "schemas/types/reason.h"
#include "schemas/types/resources.h"

namespace trainyard {

enum class Role { ps, worker, chief, evaluator };
std::string_view name_of(Role role);
std::optional<Role> role_from(std::string_view name);

// The name of a process for ever: the attempt is part of it, so a late word about attempt 1 can
// never touch attempt 2 (the first fence of ARCHITECTURE.md).
struct TaskKey {
  JobId job;
  std::int64_t attempt = 0;  // from 1
  Role role = Role::worker;
  std::int64_t index = 0;
  auto operator<=>(const TaskKey&) const = default;
};
std::string task_name(const TaskKey& key);  // "worker/0"
std::string to_string(const TaskKey& key);  // "<job>/<attempt>/worker/0", for logs and messages

// assigned -> starting -> running -> stopping -> succeeded | failed | killed | lost
enum class TaskState { assigned, starting, running, stopping, succeeded, failed, killed, lost };
std::string_view name_of(TaskState state);
std::optional<TaskState> task_state_from(std::string_view name);
constexpr bool is_terminal(TaskState state) { return state >= TaskState::succeeded; }

// How a process ended; exactly one of the two is set.
struct ExitStatus {
  std::optional<int> code;
  std::optional<int> signal;
  bool operator==(const ExitStatus&) const = default;
};

// The server's row of one task attempt.
struct TaskAttempt {
  TaskKey key;
  AgentId agent;
  std::string host;   // address that peers connect to
  int port = 0;       // of its address; 0 = has none
  int rows_port = 0;  // the second of a task that serves parameters; 0 = has none
  Resources resources;
  std::vector<int> gpus;  // slot numbers on the agent
  TaskState state = TaskState::assigned;
  bool agent_silent = false;  // shown as state "unknown" until its agent speaks again
  std::int64_t pid = 0;
  ExitStatus exit;
  Reason reason = Reason::none;
  std::string message;
  std::string routes;  // how it reaches the parameters: "ps/0 by shared memory, ps/1 by tcp"
  std::int64_t events_end = 0;  // run events are stored up to this offset of the task's log
  WallTime assigned_at;
  WallTime started_at;
  WallTime finished_at;
  bool operator==(const TaskAttempt&) const = default;
};

}  // namespace trainyard
