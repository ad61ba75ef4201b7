// Who goes first, who waits for whom, and who does not.
#include <catch2/catch.hpp>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

JobSpec workers(std::int64_t count, std::int64_t priority = 50) {
  JobSpec spec = a_spec();
  spec.ps = {};
  spec.worker.replicas = count;
  spec.scheduling.priority = priority;
  return spec;
}

void finish(Yard& yard, const std::string& agent) {
  for (TaskReport& task : yard.report_of(agent).tasks) {
    task.state = TaskState::failed;
    task.exit = {1, {}};
  }
  yard.speak(agent);
}

}  // namespace

TEST_CASE("jobs go in order of priority, and of age within a priority", "[scheduler]") {
  Yard yard;
  REQUIRE(yard.submit("old", workers(4)));
  REQUIRE(yard.submit("older_but_low", workers(4, 10)));
  REQUIRE(yard.submit("young", workers(4)));
  REQUIRE(yard.submit("urgent", workers(4, 90)));
  for (const char* agent : {"a", "b", "c"}) yard.join(agent);
  CHECK(yard.job("urgent").state == JobState::starting);
  CHECK(yard.job("old").state == JobState::starting);
  CHECK(yard.job("young").state == JobState::starting);
  CHECK(yard.job("older_but_low").state == JobState::queued);
  CHECK(yard.job("older_but_low").reason == Reason::no_capacity);
}

TEST_CASE("a large job at the head is not starved by small ones behind it", "[scheduler]") {
  Yard yard;
  yard.join("a");
  yard.join("b");
  REQUIRE(yard.submit("small", workers(1)));
  REQUIRE(yard.submit("large", workers(8)));
  REQUIRE(yard.submit("small_too", workers(1)));
  CHECK(yard.job("large").state == JobState::queued);
  CHECK(yard.job("small_too").state == JobState::queued);
}

TEST_CASE("a job behind the head goes where the head never could", "[scheduler]") {
  Yard yard;
  yard.join("gpus", {4, 16'000, 2});
  yard.join("cpus", {4, 16'000, 0});
  JobSpec with_gpus = workers(2);
  with_gpus.worker.resources.gpus = 1;
  JobSpec one_more = with_gpus;
  one_more.worker.replicas = 1;
  REQUIRE(yard.submit("first", with_gpus));
  REQUIRE(yard.submit("head", one_more));
  REQUIRE(yard.submit("behind", workers(2)));
  CHECK(yard.job("head").state == JobState::queued);
  CHECK(yard.job("behind").state == JobState::starting);
  CHECK(yard.task("behind", "worker/0").agent == AgentId{"cpus"});
}

TEST_CASE("a job that the ready agents could never hold blocks nobody", "[scheduler]") {
  Yard yard;
  REQUIRE(yard.submit("too_large", workers(9)));
  REQUIRE(yard.submit("small", workers(1)));
  CHECK(yard.job("small").reason == Reason::no_agents);
  yard.join("a");
  yard.join("b");
  CHECK(yard.job("too_large").state == JobState::queued);
  CHECK(yard.job("small").state == JobState::starting);

  yard.join("c");  // with it, it fits but for what is taken; a fourth makes room
  yard.join("d");
  CHECK(yard.job("too_large").state == JobState::starting);
}

TEST_CASE("a job that joins others whom no ready agent could hold is told at once what is missing",
          "[scheduler]") {
  Yard yard;
  yard.join("large", {9, 16'000, 0});
  yard.join("small", {4, 16'000, 0});
  yard.step(SetCordon{AgentId{"large"}, true});
  JobSpec spec = workers(1);
  spec.worker.resources.cpus = 8;
  REQUIRE(yard.submit("first", spec));
  REQUIRE(yard.submit("second", spec));
  for (const std::string id : {"first", "second"}) {
    CHECK(yard.job(id).reason == Reason::no_capacity);
    CHECK(yard.job(id).message ==
          "no agent that is ready could hold one worker of 8 cpus, 1000 MB of memory: the most "
          "that one host has is 4 cpus");
  }
}

TEST_CASE("a job that backs off blocks nobody", "[scheduler]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("first", workers(4)));
  yard.obey("a");
  finish(yard, "a");
  CHECK(yard.job("first").reason == Reason::backing_off);
  REQUIRE(yard.submit("second", workers(4)));
  CHECK(yard.job("second").state == JobState::starting);
  yard.pass(seconds(1));
  CHECK(yard.job("first").reason == Reason::no_capacity);
}

TEST_CASE("a cordoned agent keeps its tasks and takes nothing new", "[scheduler]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("first", workers(2)));
  yard.obey("a");
  yard.step(SetCordon{AgentId{"a"}, true});
  REQUIRE(yard.submit("second", workers(2)));
  CHECK(yard.job("first").state == JobState::running);
  CHECK(yard.job("second").state == JobState::queued);
  yard.step(SetCordon{AgentId{"a"}, false});
  CHECK(yard.job("second").state == JobState::starting);
}

TEST_CASE("gpus are given by slot, and a port is not given twice", "[scheduler]") {
  Yard yard;
  yard.join("a");
  JobSpec spec = a_spec();
  spec.worker = {1, {1, 1, 1}, PlacementPolicy::pack};
  REQUIRE(yard.submit("j", spec));
  REQUIRE(yard.submit("k", spec));
  CHECK(yard.task("j", "worker/0").gpus == std::vector<int>{0});
  CHECK(yard.task("k", "worker/0").gpus == std::vector<int>{1});
  CHECK(yard.task("j", "ps/0").port == 20'000);
  CHECK(yard.task("k", "ps/0").port == 20'003);  // after worker/0's
}

TEST_CASE("a spec that the known agents could never hold is refused", "[scheduler]") {
  Yard yard;
  JobSpec spec = workers(1);
  spec.worker.resources.gpus = 3;
  CHECK(yard.cluster.plan(spec).faults.empty());
  yard.join("a");
  const std::vector<SpecFault> faults = yard.cluster.plan(spec).faults;
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].pointer == "/roles/worker/resources");
  CHECK(yard.submit("j", spec).error().code == Code::invalid);
  CHECK(yard.jobs.empty());
}

TEST_CASE("a plan says where the tasks would go", "[scheduler]") {
  Yard yard;
  yard.join("a");
  JobSpec spec = workers(2);
  spec.worker.resources.gpus = 1;
  const Plan plan = yard.cluster.plan(spec);
  CHECK(plan.placeable_now);
  REQUIRE(plan.tasks.size() == 2);
  CHECK(plan.tasks[1].task == "worker/1");
  CHECK(plan.tasks[1].gpus == std::vector<int>{1});
}

}  // namespace trainyard::scheduler
