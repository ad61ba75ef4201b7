// One step of the scheduler core with 1,000 agents of 8 GPUs, all taken, and 10,000 jobs that wait.
// The limit is a tenth of the tick: above it the scheduler would be late for what it has to answer.
#include <map>
#include <string>
#include <utility>

#include "scheduler/core/cluster.h"
#include "tests/bench/bench.h"
#include "tests/scheduler/core/plain_tokens.h"

namespace trainyard::bench {
namespace {

using namespace scheduler;

constexpr int agent_count = 1000;
constexpr int queued_count = 10'000;
constexpr int rounds = 200;

class Yard {
 public:
  Yard() {
    for (int number = 0; number < agent_count; ++number) join(number);
    for (int number = 0; number < agent_count; ++number) submit();
    for (auto& [id, report] : reports_) obey(report);
    for (int number = 0; number < queued_count; ++number) submit();
  }

  // No time passes, so that no agent falls silent.
  double time_of(const Event& event) {
    const double start = seconds_now();
    Step step = cluster_.step(event, now_);
    const double took = seconds_now() - start;
    for (Assignment& assignment : step.send) wanted_[assignment.agent] = std::move(assignment);
    return took * 1e3;
  }

  double submit() {
    Job job;
    job.sequence = ++submitted_;
    job.id = JobId{"j-" + std::to_string(job.sequence)};
    job.spec.worker = {8, {1, 1000, 1}, PlacementPolicy::pack};
    job.spec.worker.resources.memory_mb += static_cast<std::int64_t>(job.sequence % 7);  // shapes
    job.spec.scheduling.priority = static_cast<std::int64_t>(job.sequence % 3);
    return time_of(Submit{std::move(job)});
  }

  double heartbeat(int number) {
    AgentReport& report = report_of(number);
    ++report.number;
    return time_of(report);
  }

  // The agent's job fails for good, which lets the next one in; the agent then takes that up.
  double let_one_in(int number) {
    AgentReport& report = report_of(number);
    for (TaskReport& task : report.tasks) {
      task.state = TaskState::failed;
      task.reason = Reason::bad_data;
      task.exit = {1, {}};
    }
    const double took = heartbeat(number);
    obey(report);
    return took;
  }

 private:
  static AgentId agent_id(int number) { return AgentId{"agent-" + std::to_string(number)}; }
  AgentReport& report_of(int number) { return reports_.at(agent_id(number % agent_count)); }

  void join(int number) {
    AgentReport& report = reports_[agent_id(number)];
    report.agent = agent_id(number);
    report.epoch = 1;
    report.number = 1;
    report.host.address = "10.0.0.1";
    report.host.capacity = {8, 64'000, 8};
    report.host.first_port = 20'000;
    report.host.last_port = 20'999;
    time_of(report);
  }

  void obey(AgentReport& report) {
    const Assignment& assignment = wanted_.at(report.agent);
    report.generation = assignment.generation;
    report.tasks.clear();
    for (const WantedTask& wanted : assignment.tasks) {
      TaskReport task;
      task.key = wanted.task.key;
      task.token = wanted.token;
      task.state = TaskState::running;
      task.pid = 1;
      report.tasks.push_back(std::move(task));
    }
    ++report.number;
    time_of(report);
  }

  const Now now_{Time{1000}, WallTime{1'700'000'000'000}};
  Cluster cluster_ = Cluster::restore({}, {}, plain_tokens(), Time{1000});
  std::map<AgentId, AgentReport> reports_;
  std::map<AgentId, Assignment> wanted_;
  std::uint64_t submitted_ = 0;
};

}  // namespace

std::vector<BenchResult> bench_schedule() {
  Yard yard;
  std::map<std::string, Samples> cases;
  for (int round = 0; round < rounds; ++round) {
    cases["tick"].add(yard.time_of(Tick{}));
    cases["report"].add(yard.heartbeat(round));
    cases["submit"].add(yard.submit());
    cases["end lets one in"].add(yard.let_one_in(round));
  }
  std::vector<BenchResult> results;
  for (const auto& [name, samples] : cases) {
    BenchResult result = summary_of(samples);
    result.bench = "schedule";
    result.case_name = name;
    result.unit = "ms";
    result.limit = 10;
    result.limit_of = "a tenth of the tick";
    results.push_back(result);
  }
  return results;
}

}  // namespace trainyard::bench
