// A simulation that stays green without a fence is not testing it: each fence of ARCHITECTURE.md
// section 5 is taken away in turn, and a few seeds must notice. (The first fence, the attempt in a
// task's name, is part of the types and cannot be taken away.)
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/sim/world.h"

namespace trainyard::sim {
namespace {

using AgentFence = agent::Fence agent::Fences::*;
using ShellFence = agent::Fence ShellFences::*;
using ServerFence = scheduler::Fence scheduler::Fences::*;

constexpr std::uint64_t seeds_max = 300;

WorldOptions without(ServerFence fence) {
  WorldOptions options;
  options.server_fences.*fence = scheduler::Fence::removed;
  return options;
}

WorldOptions without(AgentFence fence) {
  WorldOptions options;
  options.agent_fences.*fence = agent::Fence::removed;
  return options;
}

WorldOptions without(ShellFence fence) {
  WorldOptions options;
  options.shell_fences.*fence = agent::Fence::removed;
  return options;
}

// In a process of its own: without a fence the core may run into one of its own checks and abort,
// which is being noticed too.
bool is_noticed(WorldOptions options) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (options.seed = 1; options.seed <= seeds_max; ++options.seed) {
      if (!World(options).run().faults.empty()) _exit(1);
    }
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

}  // namespace

TEST_CASE("without waiting until tasks are shown to be gone, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&scheduler::Fences::shown_gone)));
}

TEST_CASE("when what could not be saved is sent all the same, the simulation fails",
          "[sim][mend-C]") {
  CHECK(is_noticed(without(&scheduler::Fences::saved_first)));
}

TEST_CASE("without saving the generation before it is sent, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&scheduler::Fences::saved_generation)));
}

TEST_CASE("without asking which generation a report has applied, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&scheduler::Fences::applied_generation)));
}

TEST_CASE("without telling two agents of one name apart, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&scheduler::Fences::instance)));
}

TEST_CASE("without the epoch of a start on reports, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&scheduler::Fences::epoch)));
}

TEST_CASE("without numbers on reports, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&scheduler::Fences::report_number)));
}

TEST_CASE("without waiting longer than the lease, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&scheduler::Fences::patience)));
}

TEST_CASE("without ignoring older assignments, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&agent::Fences::generation)));
}

TEST_CASE("without the epoch of a start on assignments, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&agent::Fences::epoch)));
}

// While the agent lives, its shims would end the tasks in its stead.
TEST_CASE("without a lease, the simulation fails", "[sim]") {
  WorldOptions options = without(&agent::Fences::lease);
  options.shell_fences.shim = agent::Fence::removed;
  CHECK(is_noticed(options));
}

TEST_CASE("when a new start lets tasks return before it knows what is wanted, the simulation fails",
          "[sim]") {
  CHECK(is_noticed(without(&agent::Fences::told_first)));
}

TEST_CASE("when a new start gives the tasks that it finds a lease of its own, the simulation fails",
          "[sim]") {
  CHECK(is_noticed(without(&ShellFences::lease_left)));
}

TEST_CASE("when no shim ends its task at the end of the lease, the simulation fails", "[sim]") {
  CHECK(is_noticed(without(&ShellFences::shim)));
}

}  // namespace trainyard::sim
