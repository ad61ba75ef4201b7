#include "agent/core/task.h"

#include <algorithm>

namespace trainyard::agent {
namespace {

// Of one task in one report: some thousand metric lines.
constexpr std::int64_t events_bytes_max = 256 * 1024;

// The state that an exit leads to. Who was told to go is `killed`, whatever it said on its way out.
TaskState state_after(const HostedTask& task, Reason reason) {
  if (task.exit.code == 0) return TaskState::succeeded;
  const bool was_told = task.outlived_lease || task.kill_at || task.was_killed;
  return was_told && reason != Reason::oom_killed ? TaskState::killed : TaskState::failed;
}

// As many as there is room for, the first even if it is larger than a task's share.
void show_events(const HostedTask& task, TaskReport& report, ReportRoom& room) {
  report.events_end = report.events_begin;
  for (std::size_t i = 0; i < task.events.size(); ++i) {
    const bool is_last = i + 1 == task.events.size();
    const std::int64_t end = is_last ? task.events_end : task.events[i + 1].offset;
    const std::int64_t bytes = end - report.events_begin;
    if (bytes > room.bytes) room.was_short = true;
    if (bytes > room.bytes || (i > 0 && bytes > events_bytes_max)) break;
    report.events.push_back(task.events[i]);
    report.events_end = end;
  }
  if (task.events.empty()) report.events_end = task.events_end;
  room.bytes -= report.events_end - report.events_begin;
}

}  // namespace

HostedTask found_task(const TaskFound& event) {
  HostedTask task;
  task.wanted = event.wanted;
  task.process = Process::alive;
  task.was_told_to_save = event.was_told_to_save;
  task.pid = event.pid;
  task.returns = event.returns;
  task.started_at = event.started_at;
  return task;
}

void begin(HostedTask& task, const TaskStarted& event) {
  task.process = Process::alive;
  if (task.pid == 0) task.started_at = event.time;
  task.pid = event.pid;
}

void begin_again(HostedTask& task) {
  task.process = Process::preparing;
  ++task.returns;
}

void fail_to_begin(HostedTask& task, const TaskStartFailed& event, WallTime now) {
  task.process = Process::gone;
  task.output_delivered = task.pid == 0;  // no process, no output
  const bool was_told = event.reason == Reason::stopped_with_gang;
  task.ended_as = was_told ? TaskState::killed : TaskState::failed;
  task.reason = task.outlived_lease ? Reason::agent_lost : event.reason;
  task.message = event.message;
  task.finished_at = now;
}

void end(HostedTask& task, const TaskExited& event) {
  task.process = Process::gone;
  task.exit = event.exit;
  if (event.outlived_lease) task.outlived_lease = true;
  task.ended_as = state_after(task, event.reason);
  task.reason = event.reason;
  task.message = event.message;
  if (task.ended_as == TaskState::killed) {
    task.message.clear();
    task.reason = task.outlived_lease ? Reason::agent_lost : Reason::stopped_with_gang;
    if (task.outlived_lease)
      task.message = "its agent had lost the server for longer than its lease";
    if (event.outlived_lease)
      task.message = "its agent was away, or hung, for longer than its lease";
  }
  task.log_tail = event.log_tail;
  task.finished_at = event.time;
}

void read(HostedTask& task, const RunEventsRead& event) {
  for (const RunEvent& one : event.events) {
    const auto* phase = std::get_if<PhaseEvent>(&one.what);
    const bool runs = phase != nullptr && phase->phase == PhaseEvent::Phase::running;
    if (runs) task.lived_as = TaskState::running;
    // Of a task that was found all is read again.
    if (one.offset >= task.stored) task.events.push_back(one);
  }
  task.events_end = std::max(task.events_end, event.end);
}

bool forget_events(HostedTask& task, std::int64_t offset) {
  const std::size_t before = task.events.size();
  task.stored = std::max(task.stored, offset);
  while (!task.events.empty() && task.events.front().offset < offset) task.events.pop_front();
  return task.events.size() < before;
}

TaskReport shown(const HostedTask& task, ReportRoom& room) {
  TaskReport report;
  report.key = task.wanted.task.key;
  report.token = task.wanted.token;
  report.pid = task.pid;
  report.started_at = task.started_at;
  report.events_begin = task.events.empty() ? task.events_end : task.events.front().offset;
  show_events(task, report, room);

  const std::int64_t ending_bytes = std::ssize(task.message) + std::ssize(task.log_tail);
  const bool all_shown = report.events_end == task.events_end;
  const bool is_last_word = task.output_delivered && all_shown && ending_bytes <= room.bytes;
  if (task.ended_as && all_shown && ending_bytes > room.bytes) room.was_short = true;
  if (room.was_short || !all_shown) room.left_some_out = true;
  if (!task.ended_as || !is_last_word) {
    report.state = task.kill_at ? TaskState::stopping : task.lived_as;
    return report;
  }
  room.bytes -= ending_bytes;
  report.state = *task.ended_as;
  report.exit = task.exit;
  report.reason = task.reason;
  report.message = task.message;
  report.log_tail = task.log_tail;
  report.finished_at = task.finished_at;
  return report;
}

}  // namespace trainyard::agent
