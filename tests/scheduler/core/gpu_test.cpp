// GPUs that are not alike, and GPUs that others use: who gets which, and what is said of it.
#include <algorithm>
#include <catch2/catch.hpp>

#include "scheduler/core/place.h"
#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

const GpuInfo t4{.index = 1, .name = "NVIDIA T4", .memory_mb = 15'360, .uuid = "GPU-t4"};
const GpuInfo h100{.index = 0, .name = "NVIDIA H100", .memory_mb = 81'559, .uuid = "GPU-h100"};

// An agent with a T4 in slot 1 and an H100 in slot 0.
void join_mixed(Yard& yard, const std::string& name = "box") {
  yard.join(name, {8, 32'000, 2});
  yard.report_of(name).host.gpus = {h100, t4};
  ++yard.report_of(name).epoch;
  yard.speak(name);
}

JobSpec worker_on(const GpuWish& wish, std::int64_t gpus = 1) {
  JobSpec spec = a_spec();
  spec.ps = {};
  spec.worker = {1, {1, 1000, gpus}, PlacementPolicy::pack};
  spec.worker.gpu = wish;
  return spec;
}

std::vector<int> slots_of_worker(Yard& yard, const std::string& job) {
  return yard.task(job, "worker/0").gpus;
}

Explanation explained(Yard& yard, const std::string& job) {
  const auto answer = yard.cluster.explain(JobId{job}, yard.now);
  REQUIRE(answer);
  return *answer;
}

void show_stranger(Yard& yard, int slot, std::int64_t pid) {
  yard.report_of("box").gpus = {{.index = slot}};
  if (pid != 0) yard.report_of("box").gpus[0].strangers = {{pid, 2048}};
  yard.speak("box");
}

}  // namespace

TEST_CASE("a task gets a GPU of the name and the memory that it asks for", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  REQUIRE(yard.submit("by-name", worker_on({.name = "h100"})));
  REQUIRE(yard.submit("by-memory", worker_on({.memory_mb = 15'360})));
  CHECK(slots_of_worker(yard, "by-name") == std::vector<int>{0});
  CHECK(slots_of_worker(yard, "by-memory") == std::vector<int>{1});
}

TEST_CASE("who asks for nothing of its GPU gets the one with the least memory", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  REQUIRE(yard.submit("any", worker_on({})));
  CHECK(slots_of_worker(yard, "any") == std::vector<int>{1});
}

TEST_CASE("a GPU that says nothing of itself is given last", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  yard.report_of("box").host.gpus[0] = {.index = 0, .name = "unknown"};
  ++yard.report_of("box").epoch;
  yard.speak("box");
  REQUIRE(yard.submit("first", worker_on({})));
  REQUIRE(yard.submit("second", worker_on({})));
  CHECK(slots_of_worker(yard, "first") == std::vector<int>{1});
  CHECK(slots_of_worker(yard, "second") == std::vector<int>{0});
}

TEST_CASE("a gang's tasks leave each other the GPUs that only some of them can use", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  JobSpec spec = worker_on({});
  spec.chief = spec.worker;
  spec.chief->gpu = {.name = "T4"};
  REQUIRE(yard.submit("gang", spec));
  CHECK(yard.task("gang", "chief/0").gpus == std::vector<int>{1});
  CHECK(slots_of_worker(yard, "gang") == std::vector<int>{0});
}

TEST_CASE("a plan names the slots that the tasks would get", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  const Plan plan = yard.cluster.plan(worker_on({.name = "H100"}));
  REQUIRE(plan.tasks.size() == 1);
  CHECK(plan.tasks[0].gpus == std::vector<int>{0});
}

TEST_CASE("a GPU that no host has is refused by the field that asks for it", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  const auto faults_of = [&](const GpuWish& wish, std::int64_t gpus) {
    const auto faults = yard.cluster.plan(worker_on(wish, gpus)).faults;
    REQUIRE(faults.size() == 1);
    return faults[0];
  };
  CHECK(
      faults_of({.name = "A100"}, 1) ==
      SpecFault{"/roles/worker/resources/gpu_name",
                "no agent that is known could hold one worker of 1 cpu, 1000 MB of memory, 1 gpu "
                "with \"A100\" in its name: slot 0 of \"box\": NVIDIA H100 has no \"A100\" in its "
                "name; slot 1: NVIDIA T4 has no \"A100\" in its name"});
  CHECK(
      faults_of({.memory_mb = 24'000}, 2) ==
      SpecFault{"/roles/worker/resources/gpu_memory_mb",
                "no agent that is known could hold one worker of 1 cpu, 1000 MB of memory, 2 gpus "
                "with 24,000 MB or more: slot 1 of \"box\": NVIDIA T4 has 15,360 MB, 24,000 are "
                "wanted"});
  CHECK(faults_of({.name = "H100", .memory_mb = 90'000}, 1).pointer ==
        "/roles/worker/resources/gpu_memory_mb");
  CHECK(
      faults_of({.name = "H100"}, 3) ==
      SpecFault{"/roles/worker/resources",
                "no agent that is known could hold one worker of 1 cpu, 1000 MB of memory, 3 gpus "
                "with \"H100\" in its name: the most GPU slots of one host are 2; an agent offers "
                "the GPUs that its driver shows, or as many slots as --gpus says"});
  CHECK(yard.submit("j", worker_on({.name = "A100"})).error().code == Code::invalid);
}

TEST_CASE("a slot whose GPU tells nothing is no GPU of a name or a memory", "[gpu]") {
  Yard yard;
  yard.join("a", {4, 16'000, 2});
  CHECK(yard.cluster.plan(worker_on({})).placeable_now);
  CHECK(yard.cluster.plan(worker_on({.name = "T4"})).faults.size() == 1);
  CHECK(yard.cluster.plan(worker_on({.memory_mb = 1})).faults.size() == 1);
}

TEST_CASE("a GPU that a stranger uses is given to nobody until the stranger is gone", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  show_stranger(yard, 0, 4711);
  REQUIRE(yard.submit("j", worker_on({.memory_mb = 24'000})));
  CHECK(yard.job("j").state == JobState::queued);
  const std::string why =
      "slot 0 of \"box\": is used by process 4711 (2,048 MiB), which is not ours; slot 1: NVIDIA "
      "T4 has 15,360 MB, 24,000 are wanted";
  const Explanation answer = explained(yard, "j");
  CHECK(answer.reason == Reason::no_capacity);
  CHECK(answer.message ==
        "no agent that is ready could hold one worker of 1 cpu, 1000 MB of memory, 1 gpu with "
        "24,000 MB or more: " +
            why);
  REQUIRE(answer.hosts.size() == 1);
  CHECK(answer.hosts[0].message == "needs 1 gpu more for one task: " + why);
  CHECK(answer.hosts[0].free.gpus == 1);

  show_stranger(yard, 0, 0);
  CHECK(yard.job("j").state == JobState::starting);
  CHECK(slots_of_worker(yard, "j") == std::vector<int>{0});
}

TEST_CASE("readings may come in any order", "[gpu]") {
  Yard yard;
  yard.join("box", {8, 32'000, 3});
  yard.report_of("box").gpus = {{.index = 2}, {.index = 0}, {.index = 1}};
  yard.report_of("box").gpus[0].strangers = {{4711, 1}};
  yard.report_of("box").gpus[1].strangers = {{4712, 1}};
  yard.speak("box");
  REQUIRE(yard.submit("j", worker_on({})));
  CHECK(slots_of_worker(yard, "j") == std::vector<int>{1});
}

TEST_CASE("a job that waits for a stranger to go blocks nobody", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  show_stranger(yard, 0, 4711);
  REQUIRE(yard.submit("waits", worker_on({.name = "H100"})));
  REQUIRE(yard.submit("goes", worker_on({})));
  CHECK(yard.job("waits").state == JobState::queued);
  CHECK(slots_of_worker(yard, "goes") == std::vector<int>{1});
}

TEST_CASE("a stranger that comes frees those whom a job that waits for its GPU was in the way of",
          "[gpu]") {
  Yard yard;
  join_mixed(yard);
  REQUIRE(yard.submit("holds", worker_on({.name = "H100"})));
  REQUIRE(yard.submit("waits", worker_on({.name = "H100"})));
  REQUIRE(yard.submit("behind", worker_on({})));
  CHECK(yard.job("behind").state == JobState::queued);
  show_stranger(yard, 0, 4711);
  CHECK(slots_of_worker(yard, "behind") == std::vector<int>{1});
  CHECK(yard.job("waits").state == JobState::queued);
}

TEST_CASE("a task whose GPU a stranger begins to use goes on", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  REQUIRE(yard.submit("j", worker_on({.name = "H100"})));
  yard.obey("box");
  show_stranger(yard, 0, 4711);
  CHECK(yard.job("j").state == JobState::running);
  CHECK(yard.cluster.agents(yard.now).at(0).gpus.at(0).strangers.at(0).pid == 4711);
}

TEST_CASE("readings are kept in memory alone, and not of an agent that is silent", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  yard.report_of("box").gpus = {{.index = 0, .temperature_celsius = 41}};
  ++yard.report_of("box").number;
  const Step step = yard.step(yard.report_of("box"));
  CHECK(step.save.empty());
  CHECK(yard.cluster.agents(yard.now).at(0).gpus.at(0).temperature_celsius == 41);
  yard.pass(Millis{11'000});
  CHECK(yard.agents.at(AgentId{"box"}).state == AgentState::disconnected);
  CHECK(yard.cluster.agents(yard.now).at(0).gpus.empty());
}

TEST_CASE("an agent that says of GPUs that it had not at its start is not heard of them", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  show_stranger(yard, 7, 4711);
  CHECK(yard.cluster.agents(yard.now).at(0).gpus.empty());
  REQUIRE(yard.submit("both", worker_on({}, 2)));
  CHECK(yard.job("both").state == JobState::starting);
}

TEST_CASE("what is known of GPUs outlives a restart of the server", "[gpu]") {
  Yard yard;
  join_mixed(yard);
  REQUIRE(yard.submit("j", worker_on({.name = "H100"})));
  yard.restart();
  yard.speak("box");
  REQUIRE(yard.submit("k", worker_on({.name = "H100"})));
  CHECK(yard.job("k").state == JobState::queued);
  CHECK(explained(yard, "k").hosts.at(0).message ==
        "needs 1 gpu more for one task: slot 0 of \"box\": worker/0 of job j has it; slot 1: "
        "NVIDIA T4 has no \"H100\" in its name");
  CHECK(explained(yard, "k").would_free_enough == std::vector<JobId>{JobId{"j"}});
}

}  // namespace trainyard::scheduler
