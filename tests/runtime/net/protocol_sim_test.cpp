// The protocol of workers and ps over thousands of seeded histories.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "tests/environment.h"
#include "tests/runtime/net/gang_sim.h"

namespace trainyard::runtime {

using test::SimEnd, test::SimSpec, test::simulate;

namespace {

constexpr std::uint64_t kSeeds = fewer(400U);

std::int64_t sum_of(const std::vector<std::int64_t>& steps) {
  return std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
}

// Without and with bounded staleness, on any number of ps, by every seed.
template <typename Check>
void simulate_async(SimSpec spec, const Check& check, std::uint64_t seeds = kSeeds) {
  for (const std::optional<std::int64_t> max_staleness :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(1)}) {
    for (const std::int64_t ps : {1, 2, 3}) {
      spec.max_staleness = max_staleness;
      spec.ps = ps;
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        INFO(ps << " ps, staleness " << max_staleness.value_or(-1) << ", seed " << seed);
        const SimEnd end = simulate(spec, seed);
        REQUIRE(end.fault == "");
        check(spec, end);
      }
    }
  }
}

}  // namespace

TEST_CASE("sync: killed workers change no bit, and nobody has to start again", "[protocol]") {
  for (const std::int64_t ps : {1, 2, 3}) {
    SimSpec spec{.ps = ps};
    const SimEnd undisturbed = simulate(spec, 0);
    REQUIRE(undisturbed.over);
    spec.worker_kills = 30;
    int kills = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      INFO(ps << " ps, seed " << seed);
      const SimEnd end = simulate(spec, seed);
      REQUIRE(end.fault == "");
      REQUIRE(end.over);
      REQUIRE(end.weights == undisturbed.weights);
      kills += end.kills;
    }
    CHECK(kills > fewer(1000));
  }
}

TEST_CASE("sync: heirs change no bit, whoever dies, comes back or never does", "[protocol]") {
  for (const std::int64_t ps : {1, 2, 3}) {
    for (const std::int64_t workers : {2, 4}) {
      SimSpec spec{.ps = ps, .workers = workers, .names_heirs = true};
      const SimEnd undisturbed = simulate(spec, 0);
      REQUIRE(undisturbed.over);
      CHECK(undisturbed.inherited == 0);
      spec.worker_kills = 30;
      spec.worker_ends = 5;
      spec.gang_kills = 1;
      int inherited = 0;
      int lost = 0;
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        INFO(ps << " ps, " << workers << " workers, seed " << seed);
        const SimEnd end = simulate(spec, seed);
        REQUIRE(end.fault == "");
        REQUIRE(end.over);
        REQUIRE(end.weights == undisturbed.weights);
        inherited += end.inherited;
        lost += end.lost_any ? 1 : 0;
      }
      CHECK(inherited > fewer(1000));
      CHECK(lost > fewer(100));
    }
  }
}

TEST_CASE("sync: streams that are cut change no bit, with heirs and without", "[protocol][cuts]") {
  for (const bool names_heirs : {false, true}) {
    for (const std::int64_t ps : {1, 2, 3}) {
      SimSpec spec{.ps = ps, .names_heirs = names_heirs};
      const SimEnd undisturbed = simulate(spec, 0);
      REQUIRE(undisturbed.over);
      int cuts = 0;
      int late_frames = 0;
      int inherited = 0;
      for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        INFO(ps << " ps, heirs " << names_heirs << ", seed " << seed);
        spec.cuts = 30;
        spec.worker_kills = seed % 2 == 0 ? 10 : 0;
        const SimEnd end = simulate(spec, seed);
        REQUIRE(end.fault == "");
        REQUIRE(end.over);
        REQUIRE(end.weights == undisturbed.weights);
        cuts += end.cuts;
        late_frames += end.late_frames;
        inherited += end.inherited;
      }
      CHECK(cuts > fewer(1000));
      CHECK(late_frames > fewer(100));
      CHECK((inherited > 0) == names_heirs);
    }
  }
}

TEST_CASE("sync: the version before is what makes a torn push whole", "[protocol]") {
  const SimSpec spec{.worker_kills = 30, .keeps_previous = false};
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SimEnd end = simulate(spec, seed);
    if (end.fault.find("is not kept") != std::string::npos) {
      ++refused;
      continue;
    }
    REQUIRE(end.fault == "");
  }
  CHECK(refused > 0);
}

TEST_CASE("sync: a gang that starts again from a checkpoint ends with the same bits",
          "[protocol]") {
  SimSpec spec{.max_steps = 20};
  const SimEnd undisturbed = simulate(spec, 0);
  spec.worker_kills = 5;
  spec.gang_kills = 2;
  int restarts = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    INFO("seed " << seed);
    const SimEnd end = simulate(spec, seed);
    REQUIRE(end.fault == "");
    REQUIRE(end.weights == undisturbed.weights);
    restarts += end.restarts;
  }
  CHECK(restarts > fewer(100));
}

TEST_CASE("async: every ps ends with the same pushes, and every checkpoint is a cut",
          "[protocol]") {
  int checkpoints = 0;
  simulate_async({.mode = Mode::async, .max_steps = 25},
                 [&](const SimSpec& spec, const SimEnd& end) {
                   for (const auto& steps : end.rank_steps) {
                     REQUIRE(steps == end.rank_steps.front());
                     REQUIRE(sum_of(steps) == spec.max_steps);
                   }
                   checkpoints += end.checkpoints;
                 });
  CHECK(checkpoints > fewer(1000));
}

TEST_CASE("async: training ends whoever dies, comes back or never does", "[protocol]") {
  int lost = 0;
  int kills = 0;
  simulate_async({.mode = Mode::async,
                  .workers = 4,
                  .max_steps = 25,
                  .worker_kills = 15,
                  .worker_ends = 3,
                  .gang_kills = 1},
                 [&](const SimSpec& /*spec*/, const SimEnd& end) {
                   REQUIRE(end.over);
                   lost += end.lost_any ? 1 : 0;
                   kills += end.kills;
                 });
  CHECK(lost > fewer(100));
  CHECK(kills > fewer(1000));
}

TEST_CASE("async: streams that are cut cost no push and double none", "[protocol][cuts]") {
  int cuts = 0;
  int late_frames = 0;
  int checkpoints = 0;
  simulate_async({.mode = Mode::async, .max_steps = 25, .cuts = 20},
                 [&](const SimSpec& spec, const SimEnd& end) {
                   REQUIRE(end.over);
                   REQUIRE(end.lost_updates == 0);
                   for (const auto& steps : end.rank_steps) {
                     REQUIRE(steps == end.rank_steps.front());
                     REQUIRE(sum_of(steps) == spec.max_steps);
                   }
                   cuts += end.cuts;
                   late_frames += end.late_frames;
                   checkpoints += end.checkpoints;
                 });
  CHECK(cuts > fewer(1000));
  CHECK(late_frames > fewer(1000));
  CHECK(checkpoints > fewer(1000));
}

TEST_CASE("async: a ps that is killed goes on alone, and all end with the same pushes",
          "[protocol][ps_return]") {
  int kills = 0;
  int all_told = 0;
  std::int64_t lost = 0;
  int checkpoints = 0;
  simulate_async({.mode = Mode::async, .max_steps = 30, .ps_kills = 8},
                 [&](const SimSpec& spec, const SimEnd& end) {
                   REQUIRE(end.over);
                   // Who had gone may be the only one to have seen the last steps.
                   const std::int64_t unseen = end.all_told ? 0 : spec.workers;
                   for (const std::int64_t version : end.versions) {
                     REQUIRE(version <= spec.max_steps);
                     REQUIRE(version >= spec.max_steps - unseen);
                   }
                   for (std::size_t i = 0; i < end.rank_steps.size() && end.all_told; ++i) {
                     REQUIRE(end.rank_steps[i] == end.rank_steps.front());
                     REQUIRE(sum_of(end.rank_steps[i]) == spec.max_steps);
                   }
                   all_told += end.all_told ? 1 : 0;
                   kills += end.ps_kills;
                   lost += end.lost_updates;
                   checkpoints += end.checkpoints;
                 });
  CHECK(kills > fewer(1000));
  CHECK(all_told > fewer(1000));
  CHECK(lost > fewer(1000));
  CHECK(checkpoints > fewer(1000));
}

TEST_CASE("async: a ps that is back learns that training is over, though others went home unheard",
          "[protocol][ps_return]") {
  int kills = 0;
  for (const std::int64_t max_steps : {1, 2, 3}) {
    simulate_async(
        {.mode = Mode::async, .max_steps = max_steps, .ps_kills = 40},
        [&](const SimSpec& /*spec*/, const SimEnd& end) {
          REQUIRE(end.over);
          kills += end.ps_kills;
        },
        is_sanitized ? 400U : 10'000U);  // it takes an unlikely history
  }
  CHECK(kills > (is_sanitized ? 40 : 1000));
}

TEST_CASE("async: training ends whichever ps and workers die", "[protocol][ps_return]") {
  int kills = 0;
  int lost = 0;
  simulate_async({.mode = Mode::async,
                  .workers = 4,
                  .max_steps = 25,
                  .worker_kills = 15,
                  .worker_ends = 3,
                  .gang_kills = 1,
                  .ps_kills = 8},
                 [&](const SimSpec& /*spec*/, const SimEnd& end) {
                   REQUIRE(end.over);
                   kills += end.ps_kills;
                   lost += end.lost_any ? 1 : 0;
                 });
  CHECK(kills > fewer(1000));
  CHECK(lost > fewer(100));
}

}  // namespace trainyard::runtime
