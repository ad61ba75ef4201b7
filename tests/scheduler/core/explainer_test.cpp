#include <catch2/catch.hpp>

#include "scheduler/core/explain.h"
#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

JobSpec workers(std::int64_t count) {
  JobSpec spec = a_spec();
  spec.ps = {};
  spec.worker = {count, {1, 1000, 1}, PlacementPolicy::pack};
  return spec;
}

Explanation explain(const Yard& yard, const std::string& id) {
  const auto answer = yard.cluster.explain(JobId{id}, yard.now);
  REQUIRE(answer);
  return *answer;
}

}  // namespace

TEST_CASE("without agents a job waits for one", "[scheduler]") {
  Yard yard;
  REQUIRE(yard.submit("j"));
  const Explanation answer = explain(yard, "j");
  CHECK(answer.reason == Reason::no_agents);
  CHECK(answer.message == "no agent is ready");
  CHECK(answer.queue_position == 1);
  CHECK(answer.queue_length == 1);
}

TEST_CASE("explain says what each host lacks and whose end would be enough", "[scheduler]") {
  Yard yard;
  yard.join("a", {4, 16'000, 2});
  yard.join("b", {4, 16'000, 0});
  REQUIRE(yard.submit("first", workers(1)));
  REQUIRE(yard.submit("second", workers(1)));
  REQUIRE(yard.submit("waiting", workers(1)));
  yard.step(SetCordon{AgentId{"b"}, true});

  const Explanation answer = explain(yard, "waiting");
  CHECK(answer.reason == Reason::no_capacity);
  CHECK(answer.message == "no room now for 1 worker of 1 cpu, 1000 MB of memory, 1 gpu");
  REQUIRE(answer.hosts.size() == 2);
  CHECK(answer.hosts[0].message ==
        "needs 1 gpu more for one task: slot 0 of \"a\": worker/0 of job first has it; slot 1: "
        "worker/0 of job second has it");
  CHECK(answer.hosts[0].missing == Resources{0, 0, 1});
  CHECK(answer.hosts[1].message == "cordoned");
  CHECK(answer.would_free_enough == std::vector<JobId>{JobId{"first"}});
}

TEST_CASE("explain says how many tasks a host has room for, whatever their roles", "[scheduler]") {
  Yard yard;
  JobSpec spec = workers(4);
  spec.worker.resources = {1, 512, 0};
  spec.ps = {2, {1, 512, 0}, PlacementPolicy::spread};
  REQUIRE(yard.submit("j", spec));
  yard.join("a", {3, 16'000, 0});
  const Explanation answer = explain(yard, "j");
  CHECK(answer.hosts.at(0).tasks_that_fit == 3);
  CHECK(answer.hosts.at(0).message == "has room for 3 tasks of 1 cpu, 512 MB of memory");
}

TEST_CASE("explain names a missing label", "[scheduler]") {
  Yard yard;
  JobSpec spec = workers(1);
  spec.scheduling.host_labels = {{"zone", "north"}};
  REQUIRE(yard.submit("j", spec));
  yard.join("a");
  const Explanation answer = explain(yard, "j");
  CHECK(answer.hosts.at(0).message == "lacks the label zone=north");
  CHECK(answer.message == "no agent that is ready has the label zone=north");
  CHECK(yard.job("j").message == answer.message);
}

TEST_CASE("explain tells a job that waits its turn how many are before it", "[scheduler]") {
  Yard yard;
  yard.join("a", {1, 16'000, 2});
  yard.join("b", {4, 16'000, 0});
  JobSpec large = workers(1);
  large.worker.resources = {2, 1000, 0};
  large.worker.replicas = 2;
  REQUIRE(yard.submit("runs", large));
  REQUIRE(yard.submit("head", large));
  REQUIRE(yard.submit("behind", workers(1)));
  CHECK(explain(yard, "head").queue_position == 1);
  const Explanation answer = explain(yard, "behind");
  CHECK(answer.state == JobState::starting);  // on a, which the head could never use
}

TEST_CASE("explain says whom a stopping job waits for", "[scheduler]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j", workers(1)));
  yard.obey("a");
  REQUIRE(yard.act("j", JobAction::cancel));
  yard.pass(seconds(20));
  CHECK(explain(yard, "j").message ==
        "cancelled by the user; waits for the end of worker/0 on a (silent)");
}

TEST_CASE("a host shows who is there", "[scheduler]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j", workers(2)));
  yard.pass(seconds(3));
  const AgentView view = yard.cluster.agents(yard.now).at(0);
  CHECK(view.used == Resources{2, 2000, 2});
  REQUIRE(view.tasks.size() == 2);
  CHECK(view.tasks[1].second == std::vector<int>{1});
  CHECK(view.silence == seconds(3));
}

TEST_CASE("what is in the way of a job for good is said by its place in the spec",
          "[scheduler][mend-B6]") {
  Yard yard;
  yard.join("a");
  JobSpec spec = workers(1);
  spec.scheduling.host_labels = {{"a/zone", "north"}, {"disk", "ssd"}};
  spec.env = {{"APP_MODE", "1"}, {"OMP_NUM_THREADS", "2"}};
  const auto pointers = [&] {
    std::vector<std::string> all;
    for (const SpecFault& fault : yard.cluster.plan(spec).faults) all.push_back(fault.pointer);
    return all;
  };

  CHECK(pointers() == std::vector<std::string>{"/scheduling/host_labels/a~1zone",
                                               "/scheduling/host_labels/disk", "/env/APP_MODE"});
  CHECK(yard.submit("j", spec).error().code == Code::invalid);
  spec.scheduling.host_labels.clear();
  spec.env.erase("APP_MODE");
  spec.worker.resources.gpus = 99;
  CHECK(pointers() == std::vector<std::string>{"/roles/worker/resources"});
  spec.worker = {999, {1, 1000, 0}, PlacementPolicy::pack};
  CHECK(pointers() == std::vector<std::string>{"/roles"});
  spec.worker.replicas = 1;
  CHECK(pointers().empty());
}

TEST_CASE("a job waits for an agent that allows its variables", "[scheduler][mend-A8]") {
  Yard yard;
  JobSpec spec = workers(1);
  spec.env = {{"APP_MODE", "1"}};
  CHECK(yard.cluster.plan(spec).faults.at(0).pointer == "/env/APP_MODE");
  yard.join("strict");
  yard.join("open");
  yard.report_of("open").host.allowed_env = {"APP_*"};
  ++yard.report_of("open").epoch;  // it starts anew, with --allow-env
  yard.speak("open");

  REQUIRE(yard.submit("j", spec));

  CHECK(yard.task("j", "worker/0").agent == AgentId{"open"});
}

TEST_CASE("explain names a variable that a host does not allow", "[scheduler]") {
  Yard yard;
  JobSpec spec = workers(1);
  spec.env = {{"APP_MODE", "1"}, {"OMP_NUM_THREADS", "2"}};
  yard.join("open");
  yard.report_of("open").host.allowed_env = {"APP_*"};
  ++yard.report_of("open").epoch;
  yard.speak("open");
  yard.join("strict");
  yard.step(SetCordon{AgentId{"open"}, true});
  REQUIRE(yard.submit("j", spec));
  const Explanation answer = explain(yard, "j");
  CHECK(answer.hosts.at(1).message == "does not allow the environment variable APP_MODE");
  CHECK_THAT(answer.message, Catch::StartsWith("no agent that is ready allows the variable APP_"));
}

TEST_CASE("a job that would fit, but not before another, is told so", "[scheduler]") {
  Yard yard;
  yard.join("a", {2, 16'000, 2});
  JobSpec both = workers(2);
  REQUIRE(yard.submit("runs", workers(1)));
  REQUIRE(yard.submit("head", both));
  REQUIRE(yard.submit("behind", workers(1)));
  const Explanation answer = explain(yard, "behind");
  CHECK(answer.reason == Reason::queued);
  CHECK(answer.message == "waits behind 1 job");
  CHECK(answer.would_free_enough.empty());
}

TEST_CASE("only the next in the queue is told whose end would let it in", "[scheduler][mend-B6]") {
  Yard yard;
  yard.join("a", {1, 16'000, 2});
  for (const std::string id : {"runs", "next", "third", "fourth"}) {
    REQUIRE(yard.submit(id, workers(1)));
  }

  CHECK(explain(yard, "next").would_free_enough == std::vector<JobId>{JobId{"runs"}});
  const Explanation fourth = explain(yard, "fourth");
  CHECK(fourth.would_free_enough.empty());
  CHECK_THAT(fourth.message, Catch::EndsWith("; waits behind 2 jobs"));
}

}  // namespace trainyard::scheduler
