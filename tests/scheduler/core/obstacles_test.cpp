// What is in the way of a gang for good, said for hosts that are empty.
#include "scheduler/core/obstacles.h"

#include <catch2/catch.hpp>

namespace trainyard::scheduler {
namespace {

using Names = std::vector<std::string>;

const Labels no_labels;
const Labels north{{"zone", "north"}};
const Labels fast{{"disk", "ssd"}};
const Labels north_and_fast{{"disk", "ssd"}, {"zone", "north"}};
const Labels all_three{{"disk", "ssd"}, {"rack", "7"}, {"zone", "north"}};
const Names none_allowed;
const Names app_allowed{"APP_*"};

Host host(const Labels& labels, const Names& allowed_env = none_allowed,
          const Resources& free = {4, 4000, 0}) {
  return {AgentId{"a"}, free, 10, &labels, assigned_jobs_bytes_max, &allowed_env};
}

JobSpec workers(std::int64_t count) {
  JobSpec spec;
  spec.ps = {};
  spec.worker = {count, {1, 1000, 0}, PlacementPolicy::pack};
  return spec;
}

// "pointer: message" of each.
Names faults_of(const JobSpec& spec, const std::vector<Host>& hosts) {
  Names words;
  for (const SpecFault& fault : obstacles(spec, hosts, Asked::known)) {
    words.push_back(fault.pointer + ": " + fault.message);
  }
  return words;
}

}  // namespace

TEST_CASE("one host has to have all labels that a spec asks for, and may have more",
          "[scheduler]") {
  JobSpec spec = workers(1);
  spec.scheduling.host_labels = north_and_fast;
  CHECK(faults_of(spec, {host(north), host(fast)}) ==
        Names{"/scheduling/host_labels: no agent that is known has all of these host_labels"});
  CHECK(faults_of(spec, {host(north)}) ==
        Names{"/scheduling/host_labels/disk: no agent that is known has the label disk=ssd"});
  spec.worker.resources.cpus = 9;
  spec.worker.resources.memory_mb = 9000;
  CHECK(faults_of(spec, {host(north)}) ==
        Names{"/scheduling/host_labels/disk: no agent that is known has the label disk=ssd",
              "/roles/worker/resources: no agent that is known could hold one worker of 9 cpus, "
              "9000 MB of memory: the most that one host has is 4 cpus and 4000 MB of memory"});
  spec = workers(1);
  spec.scheduling.host_labels = north_and_fast;
  CHECK(faults_of(spec, {host(no_labels), host(all_three)}).empty());
}

TEST_CASE("one host has to have the labels and allow the variables", "[scheduler]") {
  JobSpec spec = workers(1);
  spec.scheduling.host_labels = north;
  spec.env = {{"APP_MODE", "1"}};
  CHECK(faults_of(spec, {host(north), host(no_labels, app_allowed)}) ==
        Names{"/env: no agent that is known allows all of these variables and has its "
              "host_labels"});
  CHECK(faults_of(spec, {host(north, app_allowed)}).empty());
}

TEST_CASE("a role of which no host could hold one is named, and only that", "[scheduler]") {
  JobSpec spec = workers(1);
  spec.ps = {1, {9, 1000, 0}, PlacementPolicy::spread};
  CHECK(faults_of(spec, {host(no_labels)}) ==
        Names{"/roles/ps/resources: no agent that is known could hold one ps of 9 cpus, 1000 MB "
              "of memory: the most that one host has is 4 cpus"});
  spec.scheduling.host_labels = north;
  CHECK(faults_of(spec, {host(north), host(no_labels, none_allowed, {9, 9000, 0})}) ==
        Names{"/roles/ps/resources: no agent that is known and has its host_labels could hold "
              "one ps of 9 cpus, 1000 MB of memory: the most that one host has is 4 cpus"});
}

TEST_CASE("a gang that all hosts together could not hold is said as a whole", "[scheduler]") {
  CHECK(faults_of(workers(4), {host(no_labels)}).empty());
  CHECK(faults_of(workers(5), {host(no_labels)}) ==
        Names{"/roles: the agents that are known could not hold 5 worker of 1 cpu, 1000 MB of "
              "memory even if empty: together they have 4 cpus, 4000 MB of memory"});
}

TEST_CASE("without hosts only a variable that no agent allows by itself is in the way",
          "[scheduler]") {
  JobSpec spec = workers(1000);
  spec.scheduling.host_labels = north;
  CHECK(faults_of(spec, {}).empty());
  spec.env = {{"APP_MODE", "1"}, {"OMP_NUM_THREADS", "2"}};
  CHECK(obstacles(spec, {}, Asked::known).size() == 1);
  CHECK(obstacles(spec, {}, Asked::known).front().pointer == "/env/APP_MODE");
}

TEST_CASE("resources are said by their kinds, those that are nothing left out", "[scheduler]") {
  CHECK(in_words({1, 2000, 2}) == "1 cpu, 2000 MB of memory, 2 gpus");
  CHECK(in_words({0, 0, 1}) == "1 gpu");
  CHECK(in_words({}) == "nothing");
}

}  // namespace trainyard::scheduler
