// Gradients as signs: the bits are those of one thread that knows of no chunks, and what the
// encoding has lost goes with snapshots.
#include <catch2/catch.hpp>
#include <optional>

#include "tests/runtime/chunks/gang.h"
#include "tests/runtime/chunks/shears.h"

namespace trainyard::runtime {
namespace {

using namespace test;  // NOLINT: what this is made of

GangScene onebit_scene() {
  return {.ranks = 2, .servers = 2, .leaves = 5, .elements = 20'000, .push = Wire::onebit};
}

// Borders of variables cut blocks, some of which belong to three of them and to gaps.
GangScene with_variables() {
  GangScene scene = onebit_scene();
  scene.variables = {5000, 10, 3, 700, 1, 2048, 6001, 33, 1500};
  return with_arena_of(scene);
}

// What the snapshot of this step holds, of a gang that ends as one thread does.
GangState state_after(const GangScene& scene, std::int64_t step) {
  Servers gang(scene);
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, gang.addresses(), step)) CHECK(end == wanted);
  return gang.state_at(scene, step);
}

std::vector<std::vector<float>> go_on(const GangScene& scene, const GangState& state) {
  const Servers gang(scene, state);
  return work_all(scene, gang.addresses());
}

}  // namespace

TEST_CASE("signs decode to the same bits however the arena is cut") {
  const auto partitioning =
      GENERATE(Partitioning::chunks, Partitioning::round_robin, Partitioning::greedy);
  const auto servers = GENERATE(1, 2, 3);
  const auto chunk_elements = GENERATE(1024, 4096);
  const bool shares = GENERATE(false, true);
  GangScene scene = with_variables();
  scene.partitioning = partitioning;
  scene.servers = servers;
  scene.chunk_elements = chunk_elements;
  scene.local = shares;
  scene.shares = shares;
  CAPTURE(static_cast<int>(partitioning), servers, chunk_elements, shares);
  const Servers gang(scene);

  const auto ends = work_all(scene, gang.addresses());

  const auto wanted = expected(with_variables(), scene.max_steps);
  for (const auto& end : ends) CHECK(end == wanted);
}

TEST_CASE("a gang that begins with a snapshot makes the bits of the one that went on") {
  const auto step = GENERATE(1, 3, 6);
  const auto [ranks, servers] =
      GENERATE(table<std::int64_t, std::int64_t>({{2, 2}, {1, 3}, {3, 1}}));
  const bool shares = GENERATE(false, true);
  const auto pull = GENERATE(Wire::float32, Wire::bfloat16);
  GangScene scene = with_variables();
  scene.pull = pull;
  scene.local = shares;
  scene.shares = shares;
  const GangState state = state_after(scene, step);
  CHECK(std::ssize(state.residuals) == scene.leaves);

  scene.ranks = ranks;
  scene.servers = servers;
  scene.max_steps = 9;
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : go_on(scene, state)) CHECK(end == wanted);

  GangState without = state;
  without.residuals.clear();
  CHECK(go_on(scene, without).front() != wanted);
}

TEST_CASE("connections that are cut anywhere change no bit, and lose no residual") {
  const auto seed = GENERATE(range(1, 7));
  GangScene scene = onebit_scene();
  scene.max_steps = 8;
  const std::int64_t step = seed % 2 == 0 ? 2 : scene.max_steps;
  std::optional<Servers> gang(scene);
  std::vector<std::unique_ptr<Shears>> shears;
  std::vector<std::string> addresses;
  for (const std::string& address : gang->addresses()) {
    shears.push_back(std::make_unique<Shears>(
        address, Shears::Rules{.cuts = 6, .bytes_max = 200'000, .seed = seed}));
    addresses.push_back(shears.back()->address());
  }
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, addresses, step)) CHECK(end == wanted);
  for (const auto& each : shears) CHECK(each->cuts() > 0);
  const GangState state = gang->state_at(scene, step);
  gang.reset();

  scene.max_steps = 10;
  const auto later = expected(scene, scene.max_steps);
  for (const auto& end : go_on(scene, state)) CHECK(end == later);
}

TEST_CASE("asynchronous workers push signs") {
  GangScene scene = onebit_scene();
  scene.mode = Mode::async;
  scene.ranks = 3;
  scene.max_steps = 30;
  scene.optimizer = OptimizerKind::sgd;
  const Servers gang(scene);
  const auto ends = work_all(scene, gang.addresses());
  CHECK(ends[0] == ends[1]);
  CHECK(ends[0] == ends[2]);
  CHECK(ends[0] != expected(scene, 0));
}

TEST_CASE("a process that takes another's place does not know what that one has lost") {
  GangScene scene = onebit_scene();
  scene.ranks = 1;
  const Servers gang(scene);
  CHECK(work(scene, 0, gang.addresses(), {.dies_at = 3}).empty());

  const auto link = WorkerLink::open(link_options(scene, 0, gang.addresses()));
  REQUIRE(link.has_value());
  const auto next = (*link)->next();

  REQUIRE_FALSE(next.has_value());
  CHECK_THAT(next.error().message, Catch::Matchers::EndsWith("the gang has to begin anew"));
}

}  // namespace trainyard::runtime
