// Histories by chance of the exchange between workers and parameter servers. HISTORIES=1000000
// plays so many; HISTORY=<seed> plays one again.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/runtime/exchange_sim/yard.h"

namespace trainyard::runtime::exchange_sim {
namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

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

void play_histories(Mode mode) {
  const std::uint64_t one = number_from("HISTORY", 0);
  const std::uint64_t count = one != 0 ? 1 : number_from("HISTORIES", 3'000);
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

}  // namespace

TEST_CASE("sync: whatever is cut and whoever dies, every version is that of one process",
          "[exchange]") {
  play_histories(Mode::sync);
}

TEST_CASE("async: each push counts once on every ps, and snapshots are true cuts", "[exchange]") {
  play_histories(Mode::async);
}

}  // namespace trainyard::runtime::exchange_sim
