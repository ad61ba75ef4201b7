// Histories by chance of the exchange between workers and parameter servers. HISTORIES=1000000
// plays so many; HISTORY=<seed> plays one again.
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "tests/environment.h"
#include "tests/runtime/exchange_sim/yard.h"

namespace trainyard::runtime::exchange_sim {
namespace {

Scene scene_of(std::uint64_t seed, Mode mode) {
  std::mt19937_64 random(seed);
  const auto up_to = [&](int most) { return static_cast<int>(random() % (most + 1)); };
  Scene scene{.mode = mode, .seed = seed};
  scene.ranks = 1 + up_to(3);
  scene.servers = 1 + up_to(2);
  scene.chunks = scene.servers + up_to(6);
  scene.max_steps = 1 + up_to(7);
  if (mode == Mode::async && up_to(1) == 0) scene.max_staleness = up_to(2);
  scene.cuts = up_to(4);
  scene.deaths = up_to(3);
  scene.snapshots = up_to(2);
  scene.shares = up_to(1) == 0;
  if (mode == Mode::sync) scene.clips = up_to(1) == 0;
  return scene;
}

void check_sync(const Scene& scene, const Outcome& outcome) {
  const auto wanted = expected(scene);
  const auto is_version = [&](const std::vector<Value>& chunks, std::int64_t version) {
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      if (chunks[i].weights != wanted.at(static_cast<std::size_t>(version))[i]) return false;
    }
    return true;
  };
  REQUIRE(is_version(outcome.end, scene.max_steps));
  for (const auto& [version, chunks] : outcome.snapshots) REQUIRE(is_version(chunks, version));
}

void check_async(const Scene& scene, const Outcome& outcome) {
  const auto is_cut = [](const std::vector<Value>& chunks) {
    for (const Value& chunk : chunks) {
      if (chunk.pushes != chunks.front().pushes) return false;
    }
    return true;
  };
  REQUIRE(is_cut(outcome.end));
  std::int64_t pushes = 0;
  for (const std::int64_t each : outcome.end.front().pushes) pushes += each;
  REQUIRE(pushes == scene.max_steps);
  for (const auto& [name, chunks] : outcome.snapshots) REQUIRE(is_cut(chunks));
}

// At least one rank is not needed; it may be slow, or not there at all.
Scene scene_with_backups(std::uint64_t seed) {
  Scene scene = scene_of(seed, Mode::sync);
  std::mt19937_64 random(~seed);
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(most) + 1));
  };
  scene.clips = false;
  scene.ranks = 2 + up_to(2);
  scene.aggregate = 1 + up_to(scene.ranks - 2);
  if (up_to(1) == 0) scene.slow = up_to(scene.ranks - 1);
  scene.slow_ways = up_to(1) == 0;
  if (scene.slow_ways) scene.max_steps += 10;  // it is late by many
  if (up_to(3) == 0) scene.absent = up_to(scene.ranks - 1);
  if (up_to(2) == 0) scene.deaths = scene.cuts = 0;
  if (up_to(3) == 0) scene.chunks = 1;
  return scene;
}

void check_backups(const Scene& scene, const Outcome& outcome) {
  const auto wanted = expected(scene, outcome.named);
  for (std::size_t i = 0; i < outcome.end.size(); ++i) {
    REQUIRE(outcome.end[i].weights == wanted.back()[i]);
  }
  REQUIRE(std::ssize(outcome.snapshots_named) == std::ssize(outcome.snapshots));
  for (const std::int64_t step : outcome.snapshots_named) {
    const auto& chunks = outcome.snapshots.at(step);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      REQUIRE(chunks[i].weights == wanted.at(static_cast<std::size_t>(step))[i]);
    }
  }
  // What a process that died has reported may be lost, and so may a report with its connection.
  for (std::size_t rank = 0; rank < outcome.counted.size(); ++rank) {
    REQUIRE(outcome.counted[rank] <= outcome.left_out[rank]);
    const bool is_exact = scene.cuts + scene.deaths == 0;
    if (is_exact) REQUIRE(outcome.counted[rank] == outcome.left_out[rank]);
  }
}

void play_histories(Mode mode) {
  const std::uint64_t one = number_from_environment("HISTORY", 0);
  const std::uint64_t count = one != 0 ? 1 : number_from_environment("HISTORIES", fewer(3'000));
  std::size_t snapshots = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = one != 0 ? one : i + 1;
    const Scene scene = scene_of(seed, mode);
    const Outcome outcome = play(scene);
    INFO("HISTORY=" << seed << ": " << scene.ranks << " ranks, " << scene.servers << " servers, "
                    << scene.chunks << " chunks, " << scene.max_steps << " steps");
    REQUIRE(outcome.fault == "");
    mode == Mode::sync ? check_sync(scene, outcome) : check_async(scene, outcome);
    snapshots += outcome.snapshots.size();
  }
  if (one == 0) CHECK(snapshots > count / 20);
}

void play_backups() {
  const std::uint64_t one = number_from_environment("HISTORY", 0);
  const std::uint64_t count = one != 0 ? 1 : number_from_environment("HISTORIES", fewer(3'000));
  std::size_t snapshots = 0;
  std::int64_t late = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t seed = one != 0 ? one : i + 1;
    const Scene scene = scene_with_backups(seed);
    const Outcome outcome = play(scene);
    INFO("HISTORY=" << seed << ": " << scene.aggregate << " of " << scene.ranks << " ranks, slow "
                    << scene.slow << ", absent " << scene.absent << ", " << scene.servers
                    << " servers, " << scene.chunks << " chunks, " << scene.max_steps << " steps, "
                    << scene.cuts << " cuts, " << scene.deaths << " deaths");
    REQUIRE(outcome.fault == "");
    check_backups(scene, outcome);
    snapshots += outcome.snapshots.size();
    for (const std::int64_t each : outcome.counted) late += each;
  }
  if (one != 0) return;
  CHECK(snapshots > count / 20);
  CHECK(late > static_cast<std::int64_t>(count));
}

}  // namespace

TEST_CASE("sync: whatever is cut and whoever dies, every version is that of one process",
          "[exchange]") {
  play_histories(Mode::sync);
}

TEST_CASE("async: each push counts once on every ps, and snapshots are true cuts", "[exchange]") {
  play_histories(Mode::async);
}

TEST_CASE("backup workers: each version is of just the ranks that were named, on every ps",
          "[exchange]") {
  play_backups();
}

}  // namespace trainyard::runtime::exchange_sim
