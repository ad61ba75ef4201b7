// What a report shows where not all has room, and what the host knows of an end.
#include <algorithm>
#include <catch2/catch.hpp>

#include "agent/core/agent.h"

namespace trainyard::agent {
namespace {

constexpr Now now{Time{0}, WallTime{1'700'000'000'000}};

// That many tasks of a job, wanted by the server.
Agent agent_with(std::int64_t count) {
  Agent agent{{AgentId{"a"}, "i", 3, {}}, Time{0}};
  Assignment assignment;
  assignment.instance = "i";
  assignment.epoch = 3;
  assignment.generation = 1;
  for (std::int64_t index = 0; index < count; ++index) {
    WantedTask& wanted = assignment.tasks.emplace_back();
    wanted.task.key = {JobId{"j"}, 1, Role::worker, index};
  }
  agent.step(AssignmentArrived{assignment}, now);
  return agent;
}

std::vector<std::int64_t> with_events(Agent& agent) {
  std::vector<std::int64_t> found;
  for (const TaskReport& task : agent.next_report().tasks) {
    if (!task.events.empty()) found.push_back(task.key.index);
  }
  return found;
}

}  // namespace

TEST_CASE("the task whose events had no room is the first in the next report", "[agent][mend-C]") {
  Agent agent = agent_with(3);
  const std::int64_t most_of_a_report = report_bytes_max * 5 / 8;
  for (std::int64_t index = 0; index < 3; ++index) {
    const TaskKey key{JobId{"j"}, 1, Role::worker, index};
    agent.step(RunEventsRead{key, {{now.wall, 0, MetricEvent{}}}, most_of_a_report}, now);
  }

  CHECK(with_events(agent) == std::vector<std::int64_t>{0});
  CHECK(with_events(agent) == std::vector<std::int64_t>{1});
  CHECK(with_events(agent) == std::vector<std::int64_t>{2});
  CHECK(with_events(agent) == std::vector<std::int64_t>{0});
}

TEST_CASE("a report shows every task, also where it does not begin with the first", "[agent]") {
  Agent agent = agent_with(3);
  for (std::int64_t index = 0; index < 3; ++index) {
    const TaskKey key{JobId{"j"}, 1, Role::worker, index};
    agent.step(RunEventsRead{key, {{now.wall, 0, MetricEvent{}}}, report_bytes_max}, now);
  }
  for (int report = 0; report < 4; ++report) {
    std::vector<std::int64_t> indices;
    for (const TaskReport& task : agent.next_report().tasks) indices.push_back(task.key.index);
    std::ranges::sort(indices);
    CHECK(indices == std::vector<std::int64_t>{0, 1, 2});
  }
}

TEST_CASE("what the host knows of an end besides is shown with it", "[agent][mend-B8]") {
  Agent agent = agent_with(1);
  const TaskKey key{JobId{"j"}, 1, Role::worker, 0};
  agent.step(TaskStarted{key, 42, now.wall}, now);
  agent.step(TaskExited{key, {28, {}}, Reason::no_space, "", now.wall, "the disk is full"}, now);
  agent.step(TaskOutputDelivered{key}, now);
  const AgentReport report = agent.next_report();
  REQUIRE(report.tasks.size() == 1);
  CHECK(report.tasks[0].state == TaskState::failed);
  CHECK(report.tasks[0].reason == Reason::no_space);
  CHECK(report.tasks[0].message == "the disk is full");
}

}  // namespace trainyard::agent
