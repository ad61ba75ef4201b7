// What the core does with tasks that an earlier start of the agent has begun.
#include <catch2/catch.hpp>

#include "agent/core/agent.h"

namespace trainyard::agent {
namespace {

const TaskKey found_key{JobId{"j"}, 2, Role::worker, 1};
constexpr Time start{1'000'000};
const WallTime wall{1'700'000'000'000};

TaskFound found() {
  TaskFound task;
  task.wanted.task.key = found_key;
  task.wanted.task.spec.ps.replicas = 1;
  task.wanted.task.spec.worker.replicas = 2;
  task.wanted.task.spec.run_policy.max_restarts = 3;
  task.wanted.token = "token";
  task.pid = 42;
  task.started_at = WallTime{1'600'000'000'000};
  return task;
}

struct SecondStart {
  Agent agent;

  explicit SecondStart(Lease lease = Lease(start))
      : agent({.id = AgentId{"a"}, .instance = "i", .epoch = 4, .host = {}, .lease = lease},
              start) {}

  std::vector<Action> step(const AgentEvent& event, Time now = start) {
    return agent.step(event, {now, wall});
  }
  std::vector<Action> want(std::vector<WantedTask> tasks) {
    const AgentReport report = agent.next_report();
    step(ReportSent{report.number});
    return step(AssignmentArrived{
        {AgentId{"a"}, "i", 4, 7, report.number, Millis{60'000}, std::move(tasks)}});
  }
};

template <class Kind>
const Kind* only(const std::vector<Action>& actions) {
  const Kind* found = nullptr;
  for (const Action& action : actions) {
    const auto* kind = std::get_if<Kind>(&action);
    if (kind == nullptr) continue;
    CHECK(found == nullptr);
    found = kind;
  }
  return found;
}

}  // namespace

TEST_CASE("the first report shows a task that was found as it was, and it is not started again",
          "[agent]") {
  SecondStart yard;
  yard.step(found());
  const AgentReport report = yard.agent.next_report();
  REQUIRE(report.tasks.size() == 1);
  CHECK(report.generation == 0);
  CHECK(report.tasks[0].key == found_key);
  CHECK(report.tasks[0].token == "token");
  CHECK(report.tasks[0].pid == 42);
  CHECK(report.tasks[0].state == TaskState::starting);  // until its events are read
  CHECK(report.tasks[0].started_at == found().started_at);
  CHECK(only<StartTask>(yard.want({found().wanted})) == nullptr);
}

TEST_CASE("a task that was found and is not wanted any more is killed, then forgotten", "[agent]") {
  SecondStart yard;
  yard.step(found());
  const auto killed = yard.want({});
  REQUIRE(only<StopTask>(killed) != nullptr);
  CHECK(only<StopTask>(killed)->signal == StopSignal::kill);
  CHECK(only<ForgetTask>(yard.step(TaskExited{found_key, {std::nullopt, 9}, {}, "", wall})) !=
        nullptr);
}

TEST_CASE("a task that ended while the agent was away has its exit code", "[agent]") {
  SecondStart yard;
  yard.step(found());
  const auto ended =
      yard.step(TaskExited{found_key, {3, std::nullopt}, {}, "its last words", wall});
  CHECK(only<DeliverOutput>(ended) != nullptr);
  yard.step(TaskOutputDelivered{found_key});
  const AgentReport report = yard.agent.next_report();
  CHECK(report.tasks.at(0).state == TaskState::failed);
  CHECK(report.tasks.at(0).exit.code == 3);
}

TEST_CASE(
    "a worker that was killed while the agent was away is started again when it is still wanted, as"
    " often as its job allows",
    "[agent]") {
  SecondStart yard;
  TaskFound task = found();
  task.returns = GENERATE(0, 2, 3);
  yard.step(task);
  const TaskExited exited{found_key, {std::nullopt, 9}, {}, "", wall};
  CHECK(only<RestartTask>(yard.step(exited)) == nullptr);
  CHECK(yard.agent.next_report().tasks.at(0).state == TaskState::starting);
  const auto wanted = yard.want({task.wanted});
  const RestartTask* again = only<RestartTask>(wanted);
  REQUIRE((again != nullptr) == (task.returns < 3));
  if (again != nullptr) CHECK(again->returns == task.returns + 1);
  CHECK(only<RestartTask>(yard.want({task.wanted})) == nullptr);
}

TEST_CASE("a worker that an earlier start was told to end does not return", "[agent]") {
  SecondStart yard;
  TaskFound task = found();
  yard.step(task);
  yard.step(TaskExited{found_key, {std::nullopt, 15}, {}, "", wall});
  std::vector<Action> actions;
  SECTION("it is not wanted any more") {
    actions = yard.want({});
    CHECK(only<ForgetTask>(actions) != nullptr);
  }
  SECTION("it is to stop") {
    task.wanted.stop = StopOrder::stop;
    actions = yard.want({task.wanted});
    CHECK(only<DeliverOutput>(actions) != nullptr);
    yard.step(TaskOutputDelivered{found_key});
    CHECK(yard.agent.next_report().tasks.at(0).state == TaskState::killed);
  }
  SECTION("the agent leaves before it knows") {
    actions = yard.step(Leaving{});
    CHECK(only<DeliverOutput>(actions) != nullptr);
  }
  CHECK(only<RestartTask>(actions) == nullptr);
}

TEST_CASE("who was ended because nobody renewed the lease does not return", "[agent]") {
  SecondStart yard;
  yard.step(found());
  TaskExited exited{found_key, {std::nullopt, 9}, {}, "", wall};
  exited.outlived_lease = true;
  CHECK(only<RestartTask>(yard.step(exited)) == nullptr);
  yard.step(TaskOutputDelivered{found_key});
  const AgentReport report = yard.agent.next_report();
  CHECK(report.tasks.at(0).state == TaskState::killed);
  CHECK(report.tasks.at(0).reason == Reason::agent_lost);
}

TEST_CASE("tasks that were found have what is left of their lease", "[agent]") {
  SecondStart yard(Lease(start - Millis{50'000}, Millis{60'000}));
  yard.step(found());
  CHECK(yard.agent.lease().end() == start + Millis{10'000});
  CHECK(only<StopTask>(yard.step(Tick{}, start + Millis{9'999})) == nullptr);
  SECTION("it ends") {
    CHECK(only<StopTask>(yard.step(Tick{}, start + Millis{10'000})) != nullptr);
  }
  SECTION("it is renewed") {
    yard.want({found().wanted});
    CHECK(only<StopTask>(yard.step(Tick{}, start + Millis{59'999})) == nullptr);
  }
  SECTION("nobody is there to give the slots away") {
    yard.step(ConnectionRefused{}, start + Millis{9'000});
    CHECK(only<StopTask>(yard.step(Tick{}, start + Millis{68'999})) == nullptr);
  }
}

TEST_CASE("a task that was told to save before is not told again", "[agent]") {
  SecondStart yard;
  TaskFound task = found();
  task.was_told_to_save = true;
  yard.step(task);
  task.wanted.stop = StopOrder::save;
  CHECK(only<SaveTask>(yard.want({task.wanted})) == nullptr);
}

TEST_CASE("run events are read again from the beginning, and what the server has is dropped",
          "[agent]") {
  SecondStart yard;
  yard.step(found());
  const auto metric = [](std::int64_t offset) {
    return RunEvent{wall, offset, MetricEvent{offset, 1000, {{"loss", 1.0}}}};
  };
  yard.step(RunEventsRead{
      found_key, {{wall, 0, PhaseEvent{PhaseEvent::Phase::running, ""}}, metric(100)}, 200});
  // The server does not know how far this start has come, and has more.
  TaskFound task = found();
  task.wanted.events_stored = 300;
  yard.want({task.wanted});
  yard.step(RunEventsRead{found_key, {metric(200)}, 300});
  CHECK(yard.agent.next_report().tasks.at(0).state == TaskState::running);
  CHECK(yard.agent.next_report().tasks.at(0).events.empty());

  yard.step(RunEventsRead{found_key, {metric(300), metric(400)}, 500});
  const TaskReport shown = yard.agent.next_report().tasks.at(0);
  REQUIRE(shown.events.size() == 2);
  CHECK(shown.events_begin == 300);
  CHECK(shown.events_end == 500);
}

}  // namespace trainyard::agent
