// One task on this host, from the assignment that first named it until it is forgotten.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "agent/core/agent_events.h"
#include "schemas/types/agent.h"

namespace trainyard::agent {

// The process of a task:  preparing ──► alive ──► gone. A task that could not be started is gone at
// once; one that is started again is preparing once more, and shown as what it was.
enum class Process { preparing, alive, gone };

struct HostedTask {
  WantedTask wanted;
  Process process = Process::preparing;
  bool is_wanted = true;  // by the newest assignment
  bool output_delivered = false;
  bool was_told_to_save = false;
  std::optional<Time> kill_at;  // was asked to stop; its grace ends then
  bool was_killed = false;      // at once, without grace
  bool outlived_lease = false;  // was killed because nobody answered

  TaskState lived_as = TaskState::starting;  // starting, or running once it has said so
  std::optional<TaskState> ended_as;         // terminal; shown once nothing more will come
  std::int64_t pid = 0;                      // of the newest process; 0 = there was none
  std::int64_t returns = 0;                  // how often it was started again
  ExitStatus exit;
  Reason reason = Reason::none;
  std::string message;
  std::string log_tail;
  WallTime started_at;
  WallTime finished_at;

  std::deque<RunEvent> events;  // not known to be durable at the server, oldest first
  std::int64_t events_end = 0;  // offset after the newest read
  std::int64_t stored = 0;      // known to be durable at the server up to here

  [[nodiscard]] bool is_gone() const { return process == Process::gone; }
};

HostedTask found_task(const TaskFound& event);
void begin(HostedTask& task, const TaskStarted& event);
void fail_to_begin(HostedTask& task, const TaskStartFailed& event, WallTime now);
void begin_again(HostedTask& task);
void end(HostedTask& task, const TaskExited& event);
void read(HostedTask& task, const RunEventsRead& event);
// The server has the events up to `offset`; false when it is known to have them already.
bool forget_events(HostedTask& task, std::int64_t offset);

// What is left of the bytes that one report may have.
struct ReportRoom {
  std::int64_t bytes = report_bytes_max;
  bool was_short = false;      // some task had more to show
  bool left_some_out = false;  // so it had, or a task's own share was too small
};

// What is shown of it. Events are cut to a bounded size, oldest first; a terminal state is shown
// only with the last of them, when all files and logs are delivered too.
TaskReport shown(const HostedTask& task, ReportRoom& room);

}  // namespace trainyard::agent
