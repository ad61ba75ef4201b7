// All that an agent should have fits one message, whatever users put into their specs: a message
// that is too large would never arrive, and everybody's tasks on that host would end with the
// lease.
#include "scheduler/core/assignment_size.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "scheduler/core/cluster.h"
#include "schemas/wire/agent_codec.h"
#include "tests/scheduler/core/plain_tokens.h"
#include "tests/scheduler/loop/yard.h"
#include "tests/support/models.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

// The largest environment that a spec may have, six bytes of JSON for each of its own.
JobSpec a_large_spec(std::int64_t workers) {
  JobSpec spec = a_job("j", 1).spec;
  spec.worker.replicas = spec.training.replicas_to_aggregate = workers;
  spec.worker.resources = spec.ps.resources = {1, 1, 0};
  spec.env = {{"TF_A", std::string(32'764, '\x01')}, {"TF_B", std::string(32'764, '\x01')}};
  return spec;
}

// A core with one huge host, which shows whatever it is to have as running.
struct HugeHost {
  Cluster cluster = Cluster::restore({}, {}, plain_tokens(), Time{0});
  AgentReport report;
  Assignment wanted;
  std::uint64_t jobs = 0;

  HugeHost() {
    report.agent = AgentId{"a"};
    report.epoch = 1;
    report.host.address = "a.example";
    report.host.capacity = {100'000, 100'000'000, 0};
    report.host.first_port = 1;
    report.host.last_port = 65'535;
    speak();
  }
  void step(const Event& event) {
    const Step step = cluster.step(event, {Time{1000}, {1'700'000'000'000}});
    REQUIRE(step.outcome);
    REQUIRE(cluster.broken_beliefs().empty());
    if (!step.send.empty()) wanted = step.send.back();
  }
  void speak() {
    ++report.number;
    step(report);
  }
  void obey() {
    report.generation = wanted.generation;
    report.tasks.clear();
    for (const WantedTask& want : wanted.tasks) {
      if (want.stop == StopOrder::stop) continue;
      TaskReport& task = report.tasks.emplace_back();
      task.key = want.task.key;
      task.token = want.token;
      task.state = TaskState::running;
      task.pid = 7;
    }
    speak();
  }
  void submit(const JobSpec& spec) {
    Job job;
    job.id = JobId{"j-" + std::to_string(++jobs)};
    job.sequence = jobs;
    job.spec = spec;
    step(Submit{job});
  }
};

}  // namespace

TEST_CASE("a host is given no more jobs than it can be told of in one message", "[loop][large]") {
  HugeHost host;
  for (int i = 0; i < 200; ++i) host.submit(a_large_spec(2));
  const std::size_t placed = host.wanted.tasks.size() / 3;
  CHECK(placed > 50);
  CHECK(placed < 200);
  CHECK(to_proto(host.wanted).ByteSizeLong() <= agent_message_bytes_max);

  const JobId next{"j-" + std::to_string(placed + 1)};
  const auto why = host.cluster.explain(next, {Time{1000}, {}});
  REQUIRE(why);
  REQUIRE(why->hosts.size() == 1);
  CHECK_THAT(why->hosts[0].message, Catch::Contains("specs"));
  CHECK(why->would_free_enough == std::vector{JobId{"j-1"}});

  host.obey();
  host.step(ActOnJob{JobId{"j-1"}, JobAction::cancel});
  host.obey();
  CHECK(host.wanted.tasks.size() / 3 == placed);
  CHECK(std::ranges::any_of(host.wanted.tasks,
                            [&](const WantedTask& task) { return task.task.key.job == next; }));
}

TEST_CASE("the size of an assignment is never larger than it is taken for", "[loop][large]") {
  JobSpec spec = a_large_spec(300);
  spec.ps.replicas = 100;
  spec.name = std::string(200, 'n');
  spec.labels = spec.scheduling.host_labels = {{"key", std::string(60, 'v')}};
  spec.model = models::mlp(std::vector<std::int64_t>(60, 1'000'000));
  spec.dataset.format = "libsvm";
  spec.dataset.path = spec.dataset.test_path = "/" + std::string(4000, '\x01');
  HugeHost host;
  host.report.host.address = std::string(255, 'a');
  host.report.host.labels = spec.scheduling.host_labels;
  ++host.report.epoch;
  host.speak();
  host.submit(spec);
  REQUIRE(host.wanted.tasks.size() == 400);
  Checkpoint restore;
  restore.job = JobId{std::string(128, 'j')};
  restore.manifest = {"step-1000000000/manifest.json", 1'000'000'000'000, std::string(64, 'f')};
  restore.shards.assign(100, {"step-1000000000/shard-00001-of-00100.safetensors", 1'000'000'000'000,
                              std::string(64, 'f')});
  for (WantedTask& wanted : host.wanted.tasks) wanted.restore = restore;
  constexpr std::size_t task_bytes = 256;
  CHECK(to_proto(host.wanted).ByteSizeLong() <=
        static_cast<std::size_t>(assignment_bytes(spec)) + 400 * task_bytes);
}

TEST_CASE("a large spec reaches the agent of many of its tasks", "[link]") {
  Yard yard;
  AgentPeer agent(yard.agent_address(), "a1");
  agent.state().host.capacity = {1000, 1'000'000, 0};
  agent.state().host.first_port = 20'000;
  agent.state().host.last_port = 20'999;
  agent.report();
  agent.next();
  NewJob job = a_request();
  job.spec = a_large_spec(300);
  job.spec_json = to_json(job.spec);
  value_of(yard.submit(job));
  const Assignment assignment =
      agent.until([](const Assignment& now) { return !now.tasks.empty(); });
  CHECK(assignment.tasks.size() == 301);
  CHECK((assignment.tasks.back().task.spec == job.spec));
}
