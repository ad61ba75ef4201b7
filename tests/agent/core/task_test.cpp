// One task on a host, and what of it is shown where there is room for so much.
#include "agent/core/task.h"

#include <catch2/catch.hpp>

namespace trainyard::agent {
namespace {

const TaskKey key{JobId{"j"}, 1, Role::worker, 0};
constexpr WallTime first{1000};
constexpr WallTime later{5000};
constexpr std::int64_t share_bytes = 256 * 1024;  // of one task in one report

HostedTask a_task() {
  HostedTask task;
  task.wanted.task.key = key;
  task.wanted.token = "token";
  return task;
}

HostedTask ended(std::string message, std::string log_tail) {
  HostedTask task = a_task();
  begin(task, {key, 42, first});
  end(task, {key, {1, {}}, Reason::none, std::move(log_tail), later, std::move(message)});
  task.output_delivered = true;
  return task;
}

// Lines that begin at these offsets, the last of which ends at `end`.
void tell(HostedTask& task, const std::vector<std::int64_t>& offsets, std::int64_t end) {
  RunEventsRead told{key, {}, end};
  for (const std::int64_t offset : offsets) told.events.push_back({first, offset, MetricEvent{}});
  read(task, told);
}

TaskReport shown_in(ReportRoom& room, const HostedTask& task) { return shown(task, room); }

TaskReport shown_in_full(const HostedTask& task) {
  ReportRoom room;
  return shown(task, room);
}

}  // namespace

TEST_CASE("a task is shown with its token, and with the start of its first process", "[agent]") {
  HostedTask task = a_task();
  begin(task, {key, 42, first});
  begin_again(task);
  begin(task, {key, 43, later});
  const TaskReport report = shown_in_full(task);
  CHECK(report.key == key);
  CHECK(report.token == "token");
  CHECK(report.pid == 43);
  CHECK(report.started_at == first);
}

TEST_CASE("only the phase `running` is training", "[agent]") {
  using Phase = PhaseEvent::Phase;
  HostedTask task = a_task();
  begin(task, {key, 42, first});
  read(task, {key, {{first, 0, PhaseEvent{Phase::starting, "reads its data"}}}, 10});
  read(task, {key, {{first, 10, MetricEvent{}}}, 20});
  CHECK(shown_in_full(task).state == TaskState::starting);
  read(task, {key, {{first, 20, PhaseEvent{Phase::running, ""}}}, 30});
  CHECK(shown_in_full(task).state == TaskState::running);
}

TEST_CASE("an end is shown with its time", "[agent]") {
  CHECK(shown_in_full(ended("", "")).finished_at == later);
  HostedTask task = a_task();
  fail_to_begin(task, {key, Reason::start_failed, "no such program"}, later);
  CHECK(shown_in_full(task).finished_at == later);
}

TEST_CASE("who ends in time after it was asked to stop was killed, whatever it says of itself",
          "[agent]") {
  HostedTask task = a_task();
  begin(task, {key, 42, first});
  task.kill_at = Time{2000};
  end(task, {key, {1, {}}, Reason::none, "", later, "it was interrupted"});
  task.output_delivered = true;
  const TaskReport report = shown_in_full(task);
  CHECK(report.state == TaskState::killed);
  CHECK(report.reason == Reason::stopped_with_gang);
  CHECK(report.message.empty());
}

TEST_CASE("who ends with 0 has succeeded, though it was asked to stop as well", "[agent]") {
  for (const bool asked : {false, true}) {
    HostedTask task = a_task();
    begin(task, {key, 42, first});
    if (asked) task.kill_at = Time{2000};
    end(task, {key, {0, {}}, Reason::none, "", later});
    task.output_delivered = true;
    CHECK(shown_in_full(task).state == TaskState::succeeded);
  }
}

TEST_CASE("who took all memory failed, though it was asked to stop as well", "[agent]") {
  HostedTask task = a_task();
  begin(task, {key, 42, first});
  task.kill_at = Time{2000};
  end(task, {key, {{}, 9}, Reason::oom_killed, "", later});
  task.output_delivered = true;
  CHECK(shown_in_full(task).state == TaskState::failed);
  CHECK(shown_in_full(task).reason == Reason::oom_killed);
}

TEST_CASE("who was killed because nobody answered says so", "[agent]") {
  HostedTask task = a_task();
  begin(task, {key, 42, first});
  task.was_killed = task.outlived_lease = true;
  end(task, {key, {{}, 9}, Reason::none, "", later});
  task.output_delivered = true;
  CHECK(shown_in_full(task).reason == Reason::agent_lost);
  CHECK(shown_in_full(task).message == "its agent had lost the server for longer than its lease");
}

TEST_CASE("who was told to go before it began was killed, and of what it says", "[agent]") {
  HostedTask task = a_task();
  fail_to_begin(task, {key, Reason::stopped_with_gang, "stopped"}, later);
  CHECK(shown_in_full(task).state == TaskState::killed);
  CHECK(shown_in_full(task).reason == Reason::stopped_with_gang);
  HostedTask lost = a_task();
  lost.outlived_lease = true;
  fail_to_begin(lost, {key, Reason::stopped_with_gang, "stopped"}, later);
  CHECK(shown_in_full(lost).reason == Reason::agent_lost);
}

TEST_CASE("what has no room at all is shown from where it begins to there", "[agent]") {
  HostedTask task = a_task();
  tell(task, {0, 100, 200}, 300);
  REQUIRE(forget_events(task, 100));
  ReportRoom room{.bytes = 50};
  const TaskReport report = shown_in(room, task);
  CHECK(report.events.empty());
  CHECK(report.events_begin == 100);
  CHECK(report.events_end == 100);
  CHECK(room.bytes == 50);
  CHECK(room.was_short);
  CHECK(room.left_some_out);
}

TEST_CASE("events take up as many bytes of a report as they have", "[agent]") {
  HostedTask task = a_task();
  tell(task, {0, 100, 200}, 300);
  REQUIRE(forget_events(task, 100));
  ReportRoom room{.bytes = 1000};
  CHECK(shown_in(room, task).events.size() == 2);
  CHECK(room.bytes == 800);
}

TEST_CASE("events that fill a report to the last byte are shown, and nothing is left out",
          "[agent]") {
  HostedTask task = a_task();
  tell(task, {0, 100}, 200);
  ReportRoom room{.bytes = 200};
  CHECK(shown_in(room, task).events.size() == 2);
  CHECK_FALSE(room.was_short);
  CHECK_FALSE(room.left_some_out);
  ReportRoom smaller{.bytes = 199};
  CHECK(shown_in(smaller, task).events.size() == 1);
  CHECK(smaller.was_short);
}

TEST_CASE("a task's own share is full to the last byte, too, and keeps nothing from the others",
          "[agent]") {
  HostedTask task = a_task();
  tell(task, {0, share_bytes / 2}, share_bytes);
  ReportRoom room;
  CHECK(shown_in(room, task).events.size() == 2);
  CHECK_FALSE(room.left_some_out);

  tell(task, {share_bytes}, share_bytes + 1);
  ReportRoom more;
  CHECK(shown_in(more, task).events.size() == 2);
  CHECK_FALSE(more.was_short);
  CHECK(more.left_some_out);
}

TEST_CASE("an end that fills a report to the last byte is shown", "[agent]") {
  const HostedTask task = ended("12345", "1234567890");
  ReportRoom room{.bytes = 15};
  CHECK(shown_in(room, task).state == TaskState::failed);
  CHECK(room.bytes == 0);
  CHECK_FALSE(room.was_short);
  CHECK_FALSE(room.left_some_out);
}

TEST_CASE("an end that has no room waits for the next report, and the task is the first there",
          "[agent]") {
  const HostedTask task = ended("12345", "1234567890");
  ReportRoom room{.bytes = 14};
  const TaskReport report = shown_in(room, task);
  CHECK_FALSE(is_terminal(report.state));
  CHECK(report.log_tail.empty());
  CHECK(room.bytes == 14);
  CHECK(room.was_short);
  CHECK(room.left_some_out);
}

}  // namespace trainyard::agent
