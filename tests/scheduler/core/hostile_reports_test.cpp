// Agents that say anything at all that passes the checks of reports, and users who do the same: the
// core's beliefs about itself hold after each step, whatever is said.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <utility>

#include "schemas/wire/report_check.h"
#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

class Liar {
 public:
  explicit Liar(std::uint64_t seed) : random_(seed) {}

  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool chance(int percent) { return number(1, 100) <= percent; }
  std::string agent() { return std::string(1, static_cast<char>('a' + number(0, 3))); }
  std::string new_job() { return "j" + std::to_string(++jobs_); }
  std::string job() { return "j" + std::to_string(number(std::max(1, jobs_ - 7), jobs_ + 1)); }

  HostInfo host() {
    HostInfo host;
    host.address = "h";
    host.capacity = {number(0, 6), number(0, 9000), number(0, 5)};
    if (chance(70)) {
      while (std::cmp_less(host.gpus.size(), host.capacity.gpus)) {
        host.gpus.push_back({static_cast<int>(number(0, 9)), "g", number(1, 3)});
      }
    }
    if (chance(10)) host.gpus.push_back({0, "g", 1});
    host.first_port = static_cast<int>(number(1, 5));
    host.last_port = static_cast<int>(number(1, 8));
    if (chance(30)) host.labels["zone"] = chance(50) ? "north" : "south";
    return host;
  }

  std::vector<GpuReading> readings(const HostInfo& host) {
    std::vector<GpuReading> readings;
    for (const GpuInfo& gpu : host.gpus) {
      readings.push_back({.index = gpu.index});
      if (chance(50)) readings.back().strangers = {{number(1, 9), number(0, 9)}};
    }
    return readings;
  }

  // Of the newest assignment of that agent, or made up.
  AgentReport report(const Yard& yard, const AgentReport& before) {
    AgentReport report = before;
    const auto wanted = yard.wanted.find(report.agent);
    report.number += number(-1, 2);
    if (chance(10)) report.epoch += number(-1, 1);
    if (chance(3)) report.instance = "i" + std::to_string(number(0, 2));
    if (chance(20)) report.host = host();
    report.leaving = chance(3);
    if (chance(30)) report.gpus = readings(report.host);
    if (wanted != yard.wanted.end() && chance(80)) report.generation = wanted->second.generation;
    if (chance(3)) report.generation = number(0, std::int64_t{1} << 62);
    if (chance(30)) report.tasks.clear();
    if (wanted != yard.wanted.end()) {
      for (const WantedTask& want : wanted->second.tasks) {
        if (chance(80)) report.tasks.push_back(task(want.task.key, want.token));
      }
    }
    if (chance(15)) {
      const Role role = static_cast<Role>(number(0, 2));
      report.tasks.push_back(task({JobId{job()}, number(1, 4), role, number(0, 2)}, "made up"));
    }
    return report;
  }

  TaskReport task(const TaskKey& key, const std::string& token) {
    TaskReport task;
    task.key = key;
    task.token = chance(95) ? token : "wrong";
    task.state = chance(60) ? TaskState::running : static_cast<TaskState>(number(0, 7));
    task.pid = number(0, 3);
    if (chance(50)) task.exit.code = static_cast<int>(number(0, 2));
    if (chance(10)) task.reason = Reason::oom_killed;
    task.events_begin = number(0, 50);
    task.events_end = task.events_begin;
    while (chance(60)) {
      task.events.push_back({{}, task.events_end + number(0, 3), event()});
      task.events_end = task.events.back().offset + number(1, 20);
    }
    return task;
  }

  decltype(RunEvent::what) event() {
    const ArtifactFile file{"f", number(0, 9), std::string(64, '0')};
    switch (number(0, 4)) {
      case 0: return PhaseEvent{PhaseEvent::Phase::running, "by tcp"};
      case 1: return MetricEvent{number(0, 1LL << 53), number(0, 1LL << 53), {{"loss", 1.0}}};
      case 2: return ManifestEvent{number(0, 1LL << 53), file, {file}, {}, chance(50)};
      case 3: return FailureEvent{"PEER_LOST", ""};
      default: return PartitionEvent{};
    }
  }

 private:
  std::mt19937_64 random_;
  int jobs_ = 0;
};

JobSpec some_spec(Liar& liar) {
  JobSpec spec = a_spec();
  spec.ps.replicas = liar.number(0, 2);
  spec.worker.replicas = liar.number(1, 3);
  spec.training.replicas_to_aggregate = spec.worker.replicas;
  spec.worker.resources = {liar.number(1, 2), liar.number(1, 3000), liar.number(0, 3)};
  if (liar.chance(20)) spec.scheduling.host_labels = {{"zone", "north"}};
  return spec;
}

void act(Liar& liar, Yard& yard) {
  switch (liar.number(0, 6)) {
    case 0:
    case 1: static_cast<void>(yard.submit(liar.new_job(), some_spec(liar))); break;
    case 2:
      yard.step(ActOnJob{JobId{liar.job()}, static_cast<JobAction>(liar.number(0, 2))});
      break;
    case 3: yard.step(SetCordon{AgentId{liar.agent()}, liar.chance(30)}); break;
    case 4: yard.step(ForgetAgent{AgentId{liar.agent()}}); break;
    case 5: yard.step(ArtifactStored{JobId{liar.job()}, std::string(64, '0')}); break;
    default: yard.pass(seconds(liar.number(1, 40))); break;
  }
}

// One history; how many reports passed the checks.
int lie(std::uint64_t seed) {
  Liar liar(seed);
  Yard yard;  // its steps require that every belief holds
  std::map<std::string, AgentReport> last;
  int taken = 0;
  for (int i = 0; i < 400; ++i) {
    if (liar.chance(25)) act(liar, yard);
    if (liar.chance(2)) yard.restart();
    const std::string name = liar.agent();
    AgentReport& before = last[name];
    if (before.agent.empty()) {
      before.agent = AgentId{name};
      before.instance = "i0";
      before.host = liar.host();
    }
    const AgentReport report = liar.report(yard, before);
    if (!check_report(report)) continue;
    before = report;
    yard.step(report);
    ++taken;
    static_cast<void>(yard.cluster.explain(JobId{liar.job()}, yard.now));
    static_cast<void>(yard.cluster.plan(some_spec(liar)));
  }
  return taken;
}

}  // namespace

TEST_CASE("whatever agents say, the core's beliefs about itself hold", "[scheduler][mend-A2]") {
  int taken = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    taken += lie(seed);
  }
  CHECK(taken > 60 * 100);  // most of it is not refused at the door
}

}  // namespace trainyard::scheduler
