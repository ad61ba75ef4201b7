// An agent (the daemon on a host): what it shows the server, and what the server wants of it.
// Reports and assignments are whole states, never conversations: a lost one is mended by the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/base/result.h"
#include "schemas/base/time.h"
#include "schemas/types/checkpoint.h"
#include "schemas/types/gpu.h"
#include "schemas/types/resources.h"
#include "schemas/types/run_event.h"
#include "schemas/types/task.h"
#include "schemas/types/task_context.h"

namespace trainyard {

// A report and an assignment are one message each, and gRPC refuses those that are larger than
// this, for good (of a report half of it). So what can grow is bounded: what is said of the jobs
// on one host, and the run events and log tails of one report. The rest (what is said of each task)
// is far smaller.
inline constexpr int agent_message_bytes_max = 64 << 20;
inline constexpr std::int64_t assigned_jobs_bytes_max = 32 << 20;
inline constexpr std::int64_t report_bytes_max = 8 << 20;

// What a host is and has; constant for one start of its agent.
struct HostInfo {
  std::string address;  // that peers of its tasks connect to
  Resources capacity;
  std::vector<GpuInfo> gpus;
  int first_port = 0;  // tasks listen on ports of this range alone, both ends included
  int last_port = 0;
  std::map<std::string, std::string> labels;
  std::string agent_version;
  // Environment variables that jobs may set here besides those allowed everywhere (env_names.h).
  std::vector<std::string> allowed_env = {};
  bool operator==(const HostInfo&) const = default;
};

// One task as its agent sees it. A terminal state is reported only when all its run events and
// announced files have been taken over by the server, so that "gone" means that nothing more will
// come.
struct TaskReport {
  TaskKey key;
  std::string token;  // the task's, as it was wanted
  TaskState state = TaskState::starting;
  std::int64_t pid = 0;
  ExitStatus exit;
  Reason reason = Reason::none;  // oom_killed, start_failed...; none when the exit says it all
  std::string message;
  std::int64_t events_begin = 0;  // offset of the first of `events`
  std::int64_t events_end = 0;    // offset just after the last of them
  std::vector<RunEvent>
      events;  // not yet acknowledged, oldest first; as many as fit report_bytes_max, of all tasks
  std::string log_tail;  // last lines, once the task has failed
  WallTime started_at;
  WallTime finished_at;
  bool operator==(const TaskReport&) const = default;
};

struct AgentReport {
  AgentId agent;
  std::string instance;     // of the agent's work folder, random: another one is another agent
  std::int64_t epoch = 0;   // grows at each start of the agent, which shows in its first report
                            // the tasks of earlier ones that it has found again
  std::int64_t number = 0;  // grows with each report of an epoch; the server ignores older ones
  std::int64_t generation =
      0;                 // the newest assignment that this report's state has applied; 0 = none
  bool leaving = false;  // it was told to stop: it starts nothing more, and ends what it has
  HostInfo host;
  std::vector<TaskReport>
      tasks;  // all the agent has, terminal ones until the server no longer wants them
  std::vector<GpuReading> gpus = {};  // the newest of each GPU that tells anything
  bool operator==(const AgentReport&) const = default;
};

// Each task that it shows has ended.
inline bool shows_no_process(const AgentReport& report) {
  return std::ranges::all_of(report.tasks,
                             [](const TaskReport& task) { return is_terminal(task.state); });
}

// What a task that is there is to do: go on, save a checkpoint and then make no more progress (the
// chief alone is told so), or end gracefully.
enum class StopOrder { run, save, stop };

// A task that should be on the agent. Not listed = must not exist; its folder may be removed.
struct WantedTask {
  TaskContext task;   // what the runtime reads; the agent fills in `folder` and `restore`
  std::string token;  // of this very task: what the agent shows the server
  Resources resources;
  std::vector<int> gpus;              // slot numbers, for CUDA_VISIBLE_DEVICES
  std::optional<Checkpoint> restore;  // files to fetch before the start (of job restore->job)
  StopOrder stop = StopOrder::run;
  Millis grace{30'000};            // SIGTERM to SIGKILL
  std::int64_t events_stored = 0;  // run events are durable up to this offset
  bool operator==(const WantedTask&) const = default;
};

struct Assignment {
  AgentId agent;
  std::string instance;
  std::int64_t epoch = 0;       // the agent start it is meant for; others ignore it
  std::int64_t generation = 0;  // grows with each change of what is wanted; saved before it is sent
  std::int64_t answers =
      0;  // number of the report it answers: renews the lease from when that was sent
  Millis stop_after{
      60'000};  // the agent kills its tasks when no report younger than this was answered
  std::vector<WantedTask> tasks;
  bool operator==(const Assignment&) const = default;
};

// The report's sender is not the agent that the server knows by this name (`conflict`), or one more
// than it takes now (`unavailable`). Its stream ends with `why`; it may try again.
struct Refusal {
  AgentId agent;
  std::string instance;
  std::int64_t epoch = 0;
  std::string why;
  Code code = Code::conflict;
  bool operator==(const Refusal&) const = default;
};

enum class AgentState { ready, cordoned, draining, disconnected, down };
std::string_view name_of(AgentState state);
std::optional<AgentState> agent_state_from(std::string_view name);

// The server's row of an agent. Saved when it changes, not on every report.
struct AgentRecord {
  AgentId id;
  HostInfo host;
  std::string instance;
  std::int64_t epoch = 0;
  std::int64_t generation = 0;
  bool cordoned = false;
  AgentState state = AgentState::ready;
  WallTime registered_at;
  WallTime state_since;
  bool operator==(const AgentRecord&) const = default;
};

}  // namespace trainyard
