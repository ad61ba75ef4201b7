// Running averages and frozen variables among parameters: what workers and ps make of them is what
// one thread makes, and of state no wire loses a bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <future>
#include <limits>

#include "runtime/math/wire/bfloat16.h"
#include "runtime/net/chunks/worker_arenas.h"
#include "schemas/base/index.h"
#include "tests/runtime/chunks/gang.h"
#include "tests/runtime/chunks/name_listener.h"
#include "tests/runtime/chunks/shears.h"

namespace trainyard::runtime {
namespace {

using namespace test;  // NOLINT: what this is made of

// Blocks of which all, or some elements are frozen; state of more than one chunk of 1024.
GangScene state_scene() {
  return with_arena_of({.ranks = 2,
                        .servers = 2,
                        .leaves = 4,
                        .chunk_elements = 1024,
                        .variables = {3000, 10, 4100, 700, 33, 2048, 64, 1500, 64, 1500},
                        .frozen = {0, 2, 4},
                        .averages = 4});
}

std::span<const float> of_variable(const GangScene& scene, std::size_t i,
                                   std::span<const float> arena) {
  const Variable variable = variables_of(scene)[i];
  return arena.subspan(index_of(variable.offset), index_of(variable.elements));
}

bool are_equal(std::span<const float> a, std::span<const float> b) {
  return std::ranges::equal(a, b);
}

// But for padding, which onebit fills with what nobody reads.
bool are_same(const GangScene& scene, std::span<const float> a, std::span<const float> b) {
  for (std::size_t i = 0; i < scene.variables.size(); ++i) {
    if (!are_equal(of_variable(scene, i, a), of_variable(scene, i, b))) return false;
  }
  return true;
}

bool are_zero(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return value == 0; });
}

}  // namespace

TEST_CASE("gradients are clipped by the norm of all of them, wherever their parts are added") {
  const auto push = GENERATE(Wire::float32, Wire::bfloat16, Wire::onebit);
  const auto [ranks, servers] =
      GENERATE(table<std::int64_t, std::int64_t>({{1, 1}, {2, 2}, {3, 3}, {1, 11}}));
  const bool shares = GENERATE(false, true);
  GangScene scene = state_scene();
  scene.push = push;
  scene.ranks = ranks;
  scene.servers = servers;
  scene.local = scene.shares = shares;
  scene.mean_over = shares ? MeanOver::tokens : MeanOver::examples;
  CAPTURE(shares, static_cast<int>(push), ranks, servers);
  const auto any_norm = expected(scene, scene.max_steps);
  scene.clip_norm = 0.5;
  const Servers gang(scene);
  const auto wanted = expected(scene, scene.max_steps);
  CHECK_FALSE(are_same(scene, wanted, any_norm));
  for (const auto& end : work_all(scene, gang.addresses())) CHECK(are_same(scene, end, wanted));
}

TEST_CASE("state and frozen variables end as one thread has them, whatever the wire and the gang") {
  const auto push = GENERATE(Wire::float32, Wire::bfloat16, Wire::onebit);
  const auto [pull, stays] = GENERATE(
      table<Wire, bool>({{Wire::float32, false}, {Wire::bfloat16, false}, {Wire::bfloat16, true}}));
  const auto [ranks, servers] = GENERATE(
      table<std::int64_t, std::int64_t>({{1, 1}, {2, 1}, {3, 2}, {4, 2}, {2, 3}, {1, 11}}));
  const bool shares = GENERATE(false, true);
  GangScene scene = state_scene();
  scene.push = push;
  scene.pull = pull;
  scene.stay_rounded = stays;
  scene.ranks = ranks;
  scene.servers = servers;
  scene.local = scene.shares = shares;
  CAPTURE(shares, static_cast<int>(push), static_cast<int>(pull), stays, ranks, servers);
  const Servers gang(scene);

  const auto ends = work_all(scene, gang.addresses());

  const auto wanted = expected(scene, scene.max_steps);
  const GangState first = first_state(scene);
  for (const auto& end : ends) CHECK(are_same(scene, end, wanted));
  for (const std::size_t frozen : scene.frozen) {
    const auto before = of_variable(scene, frozen, first.weights);
    CHECK(are_equal(of_variable(scene, frozen, wanted), before));
  }
  CHECK_FALSE(are_equal(of_variable(scene, 7, wanted), of_variable(scene, 7, first.weights)));
}

TEST_CASE("a ps may hold state alone") {
  const auto partitioning = GENERATE(Partitioning::round_robin, Partitioning::greedy);
  const auto push = GENERATE(Wire::bfloat16, Wire::onebit);
  GangScene scene = state_scene();
  scene.partitioning = partitioning;
  scene.servers = 10;
  scene.push = push;
  const std::int64_t state = state_begin_of(scene);
  const auto shares = shares_of(scene);
  CHECK(std::ranges::any_of(
      shares, [&](const Share& share) { return share.ranges.front().begin >= state; }));
  const Servers gang(scene);
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, gang.addresses())) CHECK(are_same(scene, end, wanted));
}

TEST_CASE("a snapshot has state without slots, and another gang goes on with it to the bit") {
  const auto step = GENERATE(1, 3, 6);
  const auto push = GENERATE(Wire::float32, Wire::onebit);
  const auto [ranks, servers] =
      GENERATE(table<std::int64_t, std::int64_t>({{2, 2}, {1, 3}, {4, 1}}));
  const bool shares = GENERATE(false, true);
  GangScene scene = state_scene();
  scene.push = push;
  scene.local = scene.shares = shares;
  GangState state;
  {
    Servers gang(scene);
    work_all(scene, gang.addresses(), step);
    state = gang.state_at(scene, step);
  }
  CHECK(are_same(scene, state.weights, expected(scene, step)));
  const auto variables = variables_of(scene);
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const bool is_optimized = variables[i].update == UpdateRule::optimizer;
    for (const auto& slot : state.slots) {
      CHECK(are_zero(of_variable(scene, i, slot)) == !is_optimized);
    }
    for (const auto& [leaf, residual] : state.residuals) {
      CHECK(are_zero(of_variable(scene, i, residual)) == !is_optimized);
    }
  }
  CHECK(std::ssize(state.residuals) == (push == Wire::onebit ? scene.leaves : 0));

  scene.ranks = ranks;
  scene.servers = servers;
  scene.max_steps = 9;
  const auto wanted = expected(scene, scene.max_steps);
  const Servers later(scene, state);
  for (const auto& end : work_all(scene, later.addresses())) CHECK(are_same(scene, end, wanted));
}

TEST_CASE("an asynchronous push moves averages by its own leaf") {
  const auto push = GENERATE(Wire::float32, Wire::bfloat16, Wire::onebit);
  const bool shares = GENERATE(false, true);
  GangScene scene = state_scene();
  scene.mode = Mode::async;
  scene.ranks = scene.leaves = 1;  // whose pushes have one order
  scene.push = push;
  scene.local = scene.shares = shares;
  CAPTURE(static_cast<int>(push), shares);
  const Servers gang(scene);
  CHECK(
      are_same(scene, work_all(scene, gang.addresses()).front(), expected(scene, scene.max_steps)));
}

TEST_CASE("with backup workers averages are of those who made the step") {
  const auto [wire, stays] = GENERATE(
      table<Wire, bool>({{Wire::float32, false}, {Wire::bfloat16, false}, {Wire::bfloat16, true}}));
  GangScene scene = state_scene();
  scene.ranks = 3;
  scene.aggregate = 2;
  scene.push = scene.pull = wire;
  scene.stay_rounded = stays;
  const Servers gang(scene);
  NameListener listener(scene, 2, gang.addresses().front());
  auto other = std::async(std::launch::async, [&] { return work(scene, 1, gang.addresses()); });
  const auto end = work(scene, 0, gang.addresses());
  const auto wanted = expected(scene, scene.max_steps, listener.made_by());
  CHECK(are_same(scene, end, wanted));
  CHECK(are_same(scene, other.get(), wanted));
}

TEST_CASE("connections that are cut anywhere change no bit of state") {
  const auto seed = GENERATE(range(1, 5));
  GangScene scene = state_scene();
  scene.push = Wire::onebit;
  scene.max_steps = 12;
  const Servers gang(scene);
  std::vector<std::unique_ptr<Shears>> shears;
  std::vector<std::string> addresses;
  for (const std::string& address : gang.addresses()) {
    shears.push_back(std::make_unique<Shears>(
        address, Shears::Rules{.cuts = 6, .bytes_max = 100'000, .seed = seed}));
    addresses.push_back(shears.back()->address());
  }
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, addresses)) CHECK(are_same(scene, end, wanted));
  for (const auto& each : shears) CHECK(each->cuts() > 0);
}

TEST_CASE("a sum of state that is no number is not sent, whatever the wire") {
  const auto push = GENERATE(Wire::float32, Wire::bfloat16, Wire::onebit);
  const auto bad = GENERATE(std::numeric_limits<float>::infinity(), std::nanf(""));
  GangScene scene = state_scene();
  scene.push = push;
  const std::int64_t state = state_begin_of(scene);
  const std::vector<ArenaChunk> chunks = chunks_of(scene);
  const auto first =
      std::ranges::find(chunks, state, [](const ArenaChunk& chunk) { return chunk.range.begin; }) -
      chunks.begin();
  const auto last = std::ssize(chunks) - 1;
  WorkerArenas arenas(
      {.chunks = chunks, .holders = scene.servers, .parts = 2, .push = push, .state_begin = state});
  CHECK(count_before(chunks, state) == first);
  CHECK(first < last);
  for (std::size_t i = 0; i < arenas.gradient().size(); ++i) {
    arenas.gradient()[i] = first_weight(static_cast<std::int64_t>(i));
  }
  CHECK(arenas.encode(first));
  CHECK(arenas.encode(last));

  const Range& range = arenas.range_of(last);
  const auto pieces = arenas.gradient_of(last);
  REQUIRE(pieces.size() == 2);
  for (std::size_t part = 0; part < pieces.size(); ++part) {
    std::vector<float> sent(index_of(range.size()));
    REQUIRE(pieces[part].size() == sent.size() * sizeof(float));
    std::memcpy(sent.data(), pieces[part].data(), pieces[part].size());
    const std::size_t at = part * index_of(scene.elements) + index_of(range.begin);
    CHECK(are_equal(sent, arenas.gradient().subspan(at, sent.size())));
  }

  arenas.gradient()[index_of(scene.elements + range.begin)] = bad;  // of the second part
  CHECK(arenas.encode(first));
  CHECK_FALSE(arenas.encode(last));
}

TEST_CASE("gradients that come rounded are sent as they lie, and state as it was") {
  GangScene scene = state_scene();
  const std::int64_t state = state_begin_of(scene);
  const std::vector<ArenaChunk> chunks = chunks_of(scene);
  WorkerArenas::Rules rules{.chunks = chunks,
                            .holders = scene.servers,
                            .parts = 2,
                            .push = Wire::bfloat16,
                            .state_begin = state};
  WorkerArenas here(rules);
  CHECK(here.rounded(0).empty());
  rules.come_rounded = true;
  WorkerArenas there(rules);
  for (std::size_t i = 0; i < here.gradient().size(); ++i) {
    here.gradient()[i] = first_weight(static_cast<std::int64_t>(i)) / 3;
  }
  for (std::int64_t part = 0; part < 2; ++part) {
    const auto begin = index_of(part * scene.elements);
    const auto exact = here.gradient().subspan(begin, index_of(scene.elements));
    REQUIRE(there.rounded(part).size() == index_of(state));
    encode_bfloat16(exact.first(index_of(state)), there.rounded(part));
    std::ranges::copy(exact.subspan(index_of(state)),
                      there.gradient().begin() + static_cast<std::ptrdiff_t>(begin) + state);
  }
  for (std::int64_t chunk = std::ssize(chunks) - 1; chunk >= 0; --chunk) {
    REQUIRE(here.encode(chunk));
    REQUIRE(there.encode(chunk));
    const auto wanted = here.gradient_of(chunk);
    const auto sent = there.gradient_of(chunk);
    CHECK(std::ranges::equal(
        wanted, sent, [](const auto& a, const auto& b) { return std::ranges::equal(a, b); }));
  }
}

}  // namespace trainyard::runtime
