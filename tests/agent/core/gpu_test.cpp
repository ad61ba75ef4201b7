// Whose processes those on a GPU are.
#include <catch2/catch.hpp>

#include "agent/core/agent.h"

namespace trainyard::agent {
namespace {

const TaskKey key{JobId{"j"}, 1, Role::worker, 0};
constexpr std::int64_t task_pid = 42;

HostInfo a_host() {
  HostInfo host;
  host.capacity = {8, 1000, 2};
  host.gpus = {{0, "T4", 1}, {1, "T4", 1}};
  return host;
}

struct Yard {
  Now now{Time{0}, WallTime{1'700'000'000'000}};
  Agent agent{{AgentId{"a"}, "i", 3, a_host()}, Time{0}};

  std::vector<Action> step(const AgentEvent& event) { return agent.step(event, now); }

  // A task with the slot runs, as process 42.
  void run_on(int slot) {
    WantedTask task;
    task.task.key = key;
    task.gpus = {slot};
    const AgentReport report = agent.next_report();
    step(ReportSent{report.number});
    step(AssignmentArrived{
        {AgentId{"a"}, "i", 3, 1, report.number, Millis{60'000}, std::vector<WantedTask>{task}}});
    step(TaskStarted{key, task_pid, now.wall});
  }

  // Processes on slot 1, each with its kin; the actions that follow.
  std::vector<Action> read(std::vector<GpuUser> users) {
    GpusRead read;
    read.gpus.resize(2);
    read.gpus[1].reading.index = 1;
    read.gpus[1].reading.temperature_celsius = 41;
    read.gpus[1].users = std::move(users);
    return step(read);
  }

  std::vector<GpuProcess> strangers() {
    const AgentReport report = agent.next_report();
    REQUIRE(report.gpus.size() == 2);
    CHECK(report.gpus[1].temperature_celsius == 41);
    CHECK(report.gpus[0].strangers.empty());
    return report.gpus[1].strangers;
  }
};

GpuUser process(std::int64_t pid, std::vector<std::int64_t> kin, std::int64_t memory_mb = 100) {
  kin.push_back(pid);
  return {{pid, memory_mb}, std::move(kin)};
}

}  // namespace

TEST_CASE("a process on a GPU is a stranger where no task has the slot", "[gpu]") {
  Yard yard;
  yard.run_on(0);
  yard.read({process(4711, {1}), process(50, {task_pid})});  // a task's, but of another slot
  CHECK(yard.strangers() == std::vector<GpuProcess>{{50, 100}, {4711, 100}});
}

TEST_CASE("a task's process and all that came of it are no strangers on its slot", "[gpu]") {
  Yard yard;
  yard.run_on(1);
  yard.read({process(task_pid, {1}), process(50, {49, task_pid})});
  CHECK(yard.strangers().empty());
  yard.read({process(task_pid, {1}), process(4711, {1})});
  CHECK(yard.strangers() == std::vector<GpuProcess>{{4711, 100}});
}

TEST_CASE("a reading that is a moment older than a task's end makes no stranger of it", "[gpu]") {
  Yard yard;
  yard.run_on(1);
  yard.step(TaskExited{key, {.code = 0, .signal = {}}, Reason::none, "", yard.now.wall});
  yard.read({process(task_pid, {1})});
  CHECK(yard.strangers().empty());
}

TEST_CASE("a report follows at once when a stranger comes or goes, not for a temperature",
          "[gpu]") {
  Yard yard;
  yard.read({});
  CHECK(yard.read({process(4711, {1})}).size() == 1);
  CHECK(yard.read({process(4711, {1})}).empty());
  CHECK(yard.read({}).size() == 1);
}

TEST_CASE("of many strangers those are named that use most", "[gpu]") {
  Yard yard;
  std::vector<GpuUser> users;
  for (std::int64_t pid = 100; pid < 120; ++pid) users.push_back(process(pid, {1}, pid));
  yard.read(users);
  REQUIRE(yard.strangers().size() == gpu_strangers_max);
  CHECK(yard.strangers().front() == GpuProcess{119, 119});
}

TEST_CASE("of a GPU that the agent does not offer nothing is told", "[gpu]") {
  Yard yard;
  GpusRead read;
  read.gpus.resize(3);
  for (int index = 0; index < 3; ++index) {
    read.gpus[static_cast<std::size_t>(index)].reading.index = index;
  }
  yard.step(read);
  CHECK(yard.agent.next_report().gpus.size() == 2);
}

TEST_CASE("a GPU that has another number than at the agent's start is told of under its slot",
          "[gpu]") {
  Yard yard;
  HostInfo host = a_host();
  host.gpus[0].uuid = "GPU-a";
  host.gpus[1].uuid = "GPU-b";
  yard.agent = Agent({AgentId{"a"}, "i", 3, host}, Time{0});
  yard.run_on(1);

  // The first is gone from the bus, so that the second is the driver's first.
  GpusRead read;
  read.gpus.resize(2);
  read.gpus[0].uuid = "GPU-b";
  read.gpus[0].users = {process(task_pid, {}), process(4711, {1})};
  read.gpus[1].uuid = "GPU-new";  // which the agent does not offer
  read.gpus[1].reading.index = 1;
  read.gpus[1].users = {process(4712, {1})};
  yard.step(read);
  const AgentReport report = yard.agent.next_report();
  REQUIRE(report.gpus.size() == 1);
  CHECK(report.gpus[0].index == 1);
  CHECK(report.gpus[0].strangers == std::vector<GpuProcess>{{4711, 100}});
}

TEST_CASE("a GPU is told of once, whatever the driver says", "[gpu]") {
  Yard yard;
  GpusRead read;
  read.gpus.resize(3);  // all of them with number 0
  yard.step(read);
  CHECK(yard.agent.next_report().gpus.size() == 1);
}

}  // namespace trainyard::agent
