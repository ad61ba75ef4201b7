// Many small clusters in trouble. SIM_SEEDS=n runs that many, SIM_SEED=k runs one and prints what
// happens.
#include <catch2/catch.hpp>

#include "tests/environment.h"
#include "tests/sim/world.h"

namespace trainyard::sim {
namespace {

WorldOutcome simulate(std::uint64_t seed, Journal::Echo echo = Journal::Echo::off) {
  return World({seed, {}, {}, echo}).run();
}

void expect_no_fault(std::uint64_t seed, const WorldOutcome& outcome) {
  INFO("replay with SIM_SEED=" << seed);
  for (const std::string& fault : outcome.faults) FAIL_CHECK(fault);
}

}  // namespace

TEST_CASE("in trouble, what must never happen does not, and afterwards every job ends", "[sim]") {
  if (const std::uint64_t seed = number_from_environment("SIM_SEED", 0)) {
    return expect_no_fault(seed, simulate(seed, Journal::Echo::on));
  }
  const std::uint64_t seeds = number_from_environment("SIM_SEEDS", is_sanitized ? 40U : 500U);
  std::int64_t attempts = 0;
  std::int64_t hours = 0;
  std::int64_t survived = 0;
  std::int64_t with_survivors = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const WorldOutcome outcome = simulate(seed);
    expect_no_fault(seed, outcome);
    attempts += outcome.attempts;
    hours += outcome.lasted.count;
    survived += outcome.survived;
    with_survivors += outcome.survived > 0 ? 1 : 0;
  }
  WARN(seeds << " seeds, " << attempts << " gang attempts, " << hours / 3'600'000
             << " hours of cluster time; in " << with_survivors << " of them " << survived
             << " attempts went on under a new start of an agent, and succeeded");
  CHECK(attempts > 0);
  CHECK(survived > 0);
}

TEST_CASE("a seed tells the same story twice", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    INFO("seed " << seed);
    CHECK(simulate(seed).hash == simulate(seed).hash);
  }
}

}  // namespace trainyard::sim
