// What the agent's core takes and what it gives back.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "schemas/types/agent.h"

namespace trainyard::agent {

// --- in ----------------------------------------------------------------------------------------

// The server's answer. Older generations and other epochs are ignored.
struct AssignmentArrived {
  Assignment assignment;
};
// A report is about to leave; its number was taken from `next_report`.
struct ReportSent {
  std::int64_t number = 0;
};
// The agent is to end. It starts nothing from now on, and every report says so; the shell ends what
// runs.
struct Leaving {};
// The server's address refused the connection: nobody is there who could give our slots away, so
// the lease is renewed. A connection that merely times out may be a partition and renews nothing.
struct ConnectionRefused {};
// Restore files and folder are ready and the process runs.
struct TaskStarted {
  TaskKey key;
  std::int64_t pid = 0;
  WallTime time;
};
struct TaskStartFailed {
  TaskKey key;
  Reason reason = Reason::start_failed;
  std::string message;
};
// A task that an earlier start of this agent has begun: its process lives, or its end follows at
// once. Comes before the first report is made, which has to show it.
struct TaskFound {
  WantedTask wanted;
  std::int64_t pid = 0;
  WallTime started_at;
  std::int64_t returns = 0;  // how often it was started again
  bool was_told_to_save = false;
};
// The process is gone, and with it its process group.
struct TaskExited {
  TaskKey key;
  ExitStatus exit;
  Reason reason = Reason::none;  // oom_killed where the host knows
  std::string log_tail;
  WallTime time;
  std::string message{};        // what the host knows besides; often nothing
  bool outlived_lease = false;  // was ended because nobody renewed the lease
};
// New lines of the task's events.jsonl, oldest first.
struct RunEventsRead {
  TaskKey key;
  std::vector<RunEvent> events;
  std::int64_t end = 0;  // offset after the last
};
// After a DeliverOutput: everything the task wrote has been read (to the end of its file) and
// shipped, its announced files and log too.
struct TaskOutputDelivered {
  TaskKey key;
};
// A process that computes on a GPU; `kin` is it, its ancestors, and the process groups of all.
struct GpuUser {
  GpuProcess process;
  std::vector<std::int64_t> kin;
};
// What the GPUs show now, whoever uses them.
struct GpusRead {
  struct Gpu {
    std::string uuid;    // "": not known
    GpuReading reading;  // without strangers: the core knows who they are
    std::vector<GpuUser> users;
  };
  std::vector<Gpu> gpus;
};
struct Tick {};

using AgentEvent =
    std::variant<AssignmentArrived, ReportSent, Leaving, ConnectionRefused, TaskFound, TaskStarted,
                 TaskStartFailed, TaskExited, RunEventsRead, TaskOutputDelivered, GpusRead, Tick>;

// --- out ---------------------------------------------------------------------------------------

struct StartTask {
  WantedTask task;
};
// The process of the task is gone, and another is to go on in its folder.
struct RestartTask {
  TaskKey key;
  std::int64_t returns = 0;  // how often that has been, with this one
};
// The task is over: what it has written is to be brought to the server to the last byte.
struct DeliverOutput {
  TaskKey key;
};
enum class StopSignal { terminate, kill };  // to the whole process group
struct StopTask {
  TaskKey key;
  StopSignal signal = StopSignal::terminate;
};
// The task is to save a checkpoint, and then to make no more progress.
struct SaveTask {
  TaskKey key;
};
// The task is gone and no longer wanted: its folder may be removed.
struct ForgetTask {
  TaskKey key;
};
// Something changed that the server should know at once (coalesced by the shell).
struct ReportSoon {};

using Action =
    std::variant<StartTask, RestartTask, DeliverOutput, StopTask, SaveTask, ForgetTask, ReportSoon>;

}  // namespace trainyard::agent
