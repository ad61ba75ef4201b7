// Who is sent a signal and who is not, and what is heard of tasks that are not known.
#include <catch2/catch.hpp>

#include "agent/core/agent.h"

namespace trainyard::agent {
namespace {

const TaskKey key{JobId{"j"}, 1, Role::worker, 1};  // not the chief

struct Yard {
  Now now{Time{0}, WallTime{1'700'000'000'000}};
  Agent agent{{AgentId{"a"}, "i", 3, {}}, Time{0}};
  std::int64_t generation = 0;

  std::vector<Action> step(const AgentEvent& event) { return agent.step(event, now); }
  std::vector<Action> pass(Millis time) {
    now.steady = now.steady + time;
    return step(Tick{});
  }
  // The server answers a report that leaves now.
  std::vector<Action> answer(std::vector<WantedTask> tasks, Millis stop_after = Millis{60'000}) {
    const AgentReport report = agent.next_report();
    step(ReportSent{report.number});
    return step(AssignmentArrived{
        {AgentId{"a"}, "i", 3, ++generation, report.number, stop_after, std::move(tasks)}});
  }
  std::vector<Action> begin() { return step(TaskStarted{key, 42, now.wall}); }
  std::vector<Action> exit(ExitStatus status) {
    return step(TaskExited{key, status, Reason::none, "", now.wall});
  }
  TaskReport shown() {
    const AgentReport report = agent.next_report();
    REQUIRE(report.tasks.size() == 1);
    return report.tasks[0];
  }
};

WantedTask wanted(StopOrder stop = StopOrder::run) {
  WantedTask task;
  task.task.key = key;
  task.task.spec.run_policy.max_restarts = 3;
  task.stop = stop;
  task.grace = Millis{2000};
  return task;
}

template <class Kind>
int count(const std::vector<Action>& actions) {
  int found = 0;
  for (const Action& action : actions) found += std::holds_alternative<Kind>(action) ? 1 : 0;
  return found;
}

std::vector<StopSignal> signals_of(const std::vector<Action>& actions) {
  std::vector<StopSignal> signals;
  for (const Action& action : actions) {
    const auto* stop = std::get_if<StopTask>(&action);
    if (stop != nullptr) signals.push_back(stop->signal);
  }
  return signals;
}

using Signals = std::vector<StopSignal>;

}  // namespace

TEST_CASE("who begins as it is wanted is sent no signal", "[agent]") {
  Yard yard;
  yard.answer({wanted()});
  CHECK(signals_of(yard.begin()).empty());
}

TEST_CASE("who was no longer wanted while it was being prepared is killed as it begins",
          "[agent]") {
  Yard yard;
  yard.answer({wanted()});
  CHECK(signals_of(yard.answer({})) == Signals{StopSignal::kill});
  CHECK(signals_of(yard.begin()) == Signals{StopSignal::kill});
}

TEST_CASE("a task is killed once", "[agent]") {
  Yard yard;
  yard.answer({wanted()});
  yard.begin();
  yard.answer({wanted(StopOrder::stop)});
  CHECK(signals_of(yard.pass(Millis{2000})) == Signals{StopSignal::kill});
  CHECK(signals_of(yard.pass(Millis{2000})).empty());
  CHECK(signals_of(yard.answer({})).empty());
}

TEST_CASE("who is gone is sent no signal, and forgotten as soon as it is not wanted", "[agent]") {
  Yard yard;
  yard.answer({wanted()});
  yard.begin();
  yard.exit({1, {}});
  SECTION("not when the lease is over") {
    CHECK(signals_of(yard.pass(Millis{60'000})).empty());
    yard.step(TaskOutputDelivered{key});
    CHECK(yard.shown().state == TaskState::failed);
  }
  SECTION("not by the server's wish to stop it") {
    CHECK(signals_of(yard.answer({wanted(StopOrder::stop)})).empty());
    CHECK(signals_of(yard.pass(Millis{2000})).empty());
  }
  const auto actions = yard.answer({});
  CHECK(signals_of(actions).empty());
  CHECK(count<ForgetTask>(actions) == 1);
  CHECK_FALSE(yard.agent.has_tasks());
}

TEST_CASE("who cannot begin and is no longer wanted is forgotten", "[agent]") {
  Yard yard;
  yard.answer({wanted()});
  yard.answer({});
  const auto actions = yard.step(TaskStartFailed{key, Reason::stopped_with_gang, ""});
  CHECK(count<ForgetTask>(actions) == 1);
  CHECK(count<DeliverOutput>(actions) == 0);  // there was no process to write any
  CHECK_FALSE(yard.agent.has_tasks());
}

TEST_CASE("who was killed for silence is not started again, though the server is back meanwhile",
          "[agent]") {
  Yard yard;
  yard.answer({wanted()});
  yard.begin();
  CHECK(signals_of(yard.pass(Millis{60'000})) == Signals{StopSignal::kill});
  yard.answer({wanted()});
  CHECK(count<RestartTask>(yard.exit({{}, 9})) == 0);
}

TEST_CASE("a tick alone makes no failure another's fault", "[agent]") {
  Yard yard;
  yard.answer({wanted()});
  yard.begin();
  yard.pass(Millis{1000});
  yard.exit({3, {}});
  yard.step(TaskOutputDelivered{key});
  CHECK(yard.shown().state == TaskState::failed);
}

TEST_CASE("an answer renews the lease from when its report left, for as long as it says",
          "[agent]") {
  Yard yard;
  yard.answer({wanted()}, Millis{20'000});
  yard.begin();
  yard.pass(Millis{15'000});
  yard.answer({wanted()}, Millis{20'000});
  CHECK(signals_of(yard.pass(Millis{19'999})).empty());
  CHECK(signals_of(yard.pass(Millis{1})) == Signals{StopSignal::kill});
}

TEST_CASE("what is heard of a task that is not known leads to nothing", "[agent]") {
  Yard yard;
  yard.answer({wanted()});
  TaskKey other = key;
  other.index = 7;
  CHECK(yard.step(TaskStarted{other, 42, yard.now.wall}).empty());
  CHECK(yard.step(TaskStartFailed{other, Reason::start_failed, "no such program"}).empty());
  CHECK(yard.step(TaskExited{other, {1, {}}, Reason::none, "", yard.now.wall}).empty());
  CHECK(yard.step(RunEventsRead{other, {{yard.now.wall, 0, MetricEvent{}}}, 9}).empty());
  CHECK(yard.step(TaskOutputDelivered{other}).empty());
  CHECK(yard.shown().state == TaskState::starting);
}

TEST_CASE("the server hears at once of whatever changes, and once of what changes together",
          "[agent]") {
  Yard yard;
  CHECK(count<ReportSoon>(yard.answer({wanted()})) == 1);
  CHECK(count<ReportSoon>(yard.begin()) == 1);
  // Two lines, one of which has room.
  const std::int64_t large = report_bytes_max - 10;
  const std::vector<RunEvent> lines{{yard.now.wall, 0, MetricEvent{}},
                                    {yard.now.wall, large, MetricEvent{}}};
  CHECK(count<ReportSoon>(yard.step(RunEventsRead{key, lines, large + 20})) == 1);
  WantedTask stored = wanted();
  stored.events_stored = large;
  CHECK(count<ReportSoon>(yard.answer({stored})) == 1);  // a new generation, and more room
  CHECK(count<ReportSoon>(yard.exit({1, {}})) == 1);
  CHECK(count<ReportSoon>(yard.step(TaskOutputDelivered{key})) == 1);

  Yard other;
  other.answer({wanted()});
  CHECK(count<ReportSoon>(
            other.step(TaskStartFailed{key, Reason::start_failed, "no such program"})) == 1);
}

}  // namespace trainyard::agent
