// Backup workers over several ps, in thousands of histories in which messages take their time and
// processes die: no step is torn, none counts a rank twice, nobody waits for ever.
#include <catch2/catch.hpp>

#include "tests/environment.h"
#include "tests/runtime/net/backup_yard.h"

namespace trainyard::runtime {
namespace {

using test::BackupYard, test::YardSpec;

void check_history(const YardSpec& spec) {
  INFO(spec.workers << " workers, steps of " << spec.aggregate << ", " << spec.ps << " ps, "
                    << spec.deaths << " deaths, seed " << spec.seed);
  BackupYard yard(spec);
  const bool ended = yard.run();
  REQUIRE(yard.fault.empty());
  REQUIRE(ended);
  CHECK(yard.commits() == spec.max_steps);
  CHECK(yard.applied() + yard.dropped() == yard.pushed());
  for (std::size_t ps = 0; ps < static_cast<std::size_t>(spec.ps); ++ps) {
    CHECK(yard.weight(ps) == Approx(yard.expected_weight()).epsilon(1e-4));
  }
  const auto snapshots = yard.snapshots();
  for (const auto& of_ps : snapshots) CHECK(of_ps == snapshots.front());
  CHECK(std::ranges::count(snapshots.front(), -1) == 0);
  CHECK(std::ssize(snapshots.front()) <= yard.snapshots_asked());

  CHECK(yard.told().examples == 10 * yard.applied());
  if (spec.deaths == 0) CHECK(yard.contributed() == yard.applied());
}

}  // namespace

TEST_CASE("every ps makes each step of the same workers, and every push is applied or dropped",
          "[backup_simulation]") {
  for (std::int64_t workers = 1; workers <= 5; ++workers) {
    for (std::int64_t aggregate = 1; aggregate <= workers; ++aggregate) {
      for (const std::int64_t ps : {1, 2, 3}) {
        for (std::uint64_t seed = 0; seed < fewer(20U); ++seed) {
          check_history({.workers = workers, .aggregate = aggregate, .ps = ps, .seed = seed});
        }
      }
    }
  }
}

TEST_CASE("workers die at any point and come back, and no step is torn", "[backup_simulation]") {
  for (std::int64_t workers = 2; workers <= 5; ++workers) {
    for (std::int64_t aggregate = 1; aggregate <= workers; ++aggregate) {
      for (const std::int64_t ps : {1, 2, 3}) {
        for (std::uint64_t seed = 0; seed < fewer(40U); ++seed) {
          check_history(
              {.workers = workers, .aggregate = aggregate, .ps = ps, .deaths = 8, .seed = seed});
        }
      }
    }
  }
}

TEST_CASE("a simulation of workers that leave something out goes wrong", "[backup_simulation]") {
  using enum YardSpec::Without;
  const auto wrong_of = [](YardSpec::Without without) {
    int wrong = 0;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      BackupYard yard({.deaths = 4, .seed = seed, .without = without});
      if (!yard.run() || !yard.fault.empty()) ++wrong;
    }
    return wrong;
  };
  CHECK(wrong_of(nothing) == 0);
  CHECK(wrong_of(waiting_until_held) > 0);  // a step of a gradient that one ps does not hold
  CHECK(wrong_of(telling_the_others) > 0);
}

TEST_CASE("checkpoints are made of what was asked for, though the push was late",
          "[backup_simulation]") {
  std::int64_t late = 0;
  for (std::uint64_t seed = 0; seed < fewer(100U); ++seed) {
    BackupYard yard({.workers = 4, .aggregate = 1, .ps = 2, .max_steps = 20, .seed = seed});
    REQUIRE(yard.run());
    if (!yard.asked_late() || *yard.asked_late() + 1 >= 20) continue;  // the last is made anyway
    ++late;
    const auto made = yard.snapshots().front();
    REQUIRE_FALSE(made.empty());
    CHECK(made.back() > *yard.asked_late());
  }
  CHECK(late > 0);
}

}  // namespace trainyard::runtime
