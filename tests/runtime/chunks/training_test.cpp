// Chunks travel between real sockets, and what they make is what one thread makes, to the bit.
#include <catch2/catch.hpp>
#include <future>

#include "schemas/base/index.h"
#include "tests/runtime/chunks/gang.h"
#include "tests/runtime/chunks/name_listener.h"
#include "tests/runtime/chunks/shears.h"

namespace trainyard::runtime {
namespace {

using namespace test;  // NOLINT: what this is made of

}  // namespace

TEST_CASE("workers end with what one thread makes, whatever the wire and however many they are") {
  const auto push = GENERATE(Wire::float32, Wire::bfloat16, Wire::onebit);
  const auto [pull, stays] = GENERATE(
      table<Wire, bool>({{Wire::float32, false}, {Wire::bfloat16, false}, {Wire::bfloat16, true}}));
  const auto [ranks, servers] =
      GENERATE(table<std::int64_t, std::int64_t>({{1, 1}, {2, 1}, {3, 2}, {2, 3}}));
  const auto [local, shares] =
      GENERATE(table<bool, bool>({{false, false}, {true, false}, {true, true}}));
  const GangScene scene{.ranks = ranks,
                        .servers = servers,
                        .leaves = 5,
                        .push = push,
                        .pull = pull,
                        .stay_rounded = stays,
                        .local = local,
                        .shares = shares};
  CAPTURE(local, shares, static_cast<int>(push), static_cast<int>(pull), stays, ranks, servers);
  const Servers gang(scene);
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, gang.addresses())) CHECK(end == wanted);
}

TEST_CASE("gradients are the mean of as many tokens as their senders say, however they travel") {
  const auto push = GENERATE(Wire::float32, Wire::bfloat16);
  const auto [ranks, servers] =
      GENERATE(table<std::int64_t, std::int64_t>({{1, 1}, {2, 1}, {3, 2}}));
  const auto [local, shares] = GENERATE(table<bool, bool>({{false, false}, {true, true}}));
  const GangScene scene = with_arena_of({.ranks = ranks,
                                         .servers = servers,
                                         .leaves = 5,
                                         .push = push,
                                         .local = local,
                                         .shares = shares,
                                         .variables = {5000, 700, 900},
                                         .averages = 1,
                                         .mean_over = MeanOver::tokens});
  CAPTURE(local, shares, static_cast<int>(push), ranks, servers);
  const Servers gang(scene);
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, gang.addresses())) CHECK(end == wanted);
}

TEST_CASE("of one chunk alone, and with more parameter servers than chunks") {
  const GangScene scene{.ranks = 2,
                        .servers = 3,
                        .elements = 16,
                        .chunk_elements = 1024,
                        .optimizer = OptimizerKind::sgd};
  const Servers gang(scene);
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, gang.addresses())) CHECK(end == wanted);
}

TEST_CASE("a worker that reads a ps' weights where they lie goes beside one that is sent them") {
  const auto push = GENERATE(Wire::float32, Wire::onebit);
  const GangScene near{
      .ranks = 2, .servers = 1, .leaves = 4, .push = push, .local = true, .shares = true};
  GangScene far = near;
  far.local = far.shares = false;
  const Servers gang(near);
  auto other = std::async(std::launch::async, [&] { return work(far, 1, gang.addresses()); });
  const auto wanted = expected(near, near.max_steps);
  CHECK(work(near, 0, gang.addresses()) == wanted);
  CHECK(other.get() == wanted);
}

TEST_CASE("connections that are cut anywhere change no bit") {
  const auto seed = GENERATE(range(1, 9));
  const auto mean_over = GENERATE(MeanOver::examples, MeanOver::tokens);
  const double clip_norm = GENERATE(0.0, 0.25);
  const bool rounds = seed % 2 == 0;
  const GangScene scene{.ranks = 2,
                        .servers = 2,
                        .leaves = 4,
                        .max_steps = 12,
                        .pull = rounds ? Wire::bfloat16 : Wire::float32,
                        .stay_rounded = rounds,
                        .mean_over = mean_over,
                        .clip_norm = clip_norm};
  const Servers gang(scene);
  std::vector<std::unique_ptr<Shears>> shears;
  std::vector<std::string> addresses;
  for (const std::string& address : gang.addresses()) {
    shears.push_back(std::make_unique<Shears>(
        address, Shears::Rules{.cuts = 6, .bytes_max = 400'000, .seed = seed}));
    addresses.push_back(shears.back()->address());
  }
  const auto wanted = expected(scene, scene.max_steps);
  for (const auto& end : work_all(scene, addresses)) CHECK(end == wanted);
  for (const auto& each : shears) CHECK(each->cuts() > 0);
}

TEST_CASE("by shared memory, connections that are cut anywhere change no bit") {
  const auto [mode, ranks] = GENERATE(table<Mode, std::int64_t>(
      {{Mode::sync, 1}, {Mode::sync, 2}, {Mode::async, 1}}));  // whose pushes have one order
  const std::int64_t servers = GENERATE(1, 2);
  const bool rounds = GENERATE(false, true);
  const GangScene scene{.mode = mode,
                        .ranks = ranks,
                        .servers = servers,
                        .leaves = ranks,
                        .max_steps = 20,
                        .pull = rounds ? Wire::bfloat16 : Wire::float32,
                        .stay_rounded = rounds,
                        .local = true,
                        .shares = true};
  const Servers gang(scene);
  CAPTURE(ranks, servers);
  // A ps closes the connection of a rank that calls anew; the worker makes another.
  const auto cut = [&](WorkerLink& /*link*/, std::int64_t step) {
    if (step % 3 == 0)
      const NameListener caller(scene, 0, gang.addresses()[index_of(step % servers)]);
  };
  auto others = std::async(std::launch::async, [&] {
    return ranks == 1 ? expected(scene, scene.max_steps) : work(scene, 1, gang.addresses());
  });
  const auto wanted = expected(scene, scene.max_steps);
  CHECK(work(scene, 0, gang.addresses(), {.at_step = cut}) == wanted);
  CHECK(others.get() == wanted);
}

TEST_CASE("a process that takes another's place makes the same bits") {
  const auto dies_at = GENERATE(1, 2, 4, 6);
  const bool shares = GENERATE(false, true);
  const std::int64_t servers = GENERATE(1, 2);
  // With a norm the chief is the one that knows it.
  const auto [clip_norm, rank] = GENERATE(table<double, std::int64_t>({{0.0, 1}, {0.25, 0}}));
  const bool rounds = GENERATE(false, true);
  const GangScene scene{.ranks = 2,
                        .servers = servers,
                        .leaves = 3,
                        .pull = rounds ? Wire::bfloat16 : Wire::float32,
                        .stay_rounded = rounds,
                        .local = shares,
                        .shares = shares,
                        .clip_norm = clip_norm};
  const Servers gang(scene);
  auto other = std::async(std::launch::async,
                          [&, rank = 1 - rank] { return work(scene, rank, gang.addresses()); });
  CHECK(work(scene, rank, gang.addresses(), {.dies_at = dies_at}).empty());
  const auto wanted = expected(scene, scene.max_steps);
  CHECK(work(scene, rank, gang.addresses()) == wanted);
  CHECK(other.get() == wanted);
}

// Async the last push may be there for some chunks, which come exact, and not for others.
TEST_CASE("a worker that comes back among the last pushes reads all parameters") {
  const bool shares = GENERATE(false, true);
  const bool stays = GENERATE(false, true);
  const GangScene scene{.mode = Mode::async,
                        .ranks = 1,
                        .servers = 1,
                        .leaves = 1,
                        .max_steps = 4,
                        .pull = Wire::bfloat16,
                        .stay_rounded = stays,
                        .local = shares,
                        .shares = shares};
  const Servers gang(scene);
  work(scene, 0, gang.addresses(), {.dies_at = scene.max_steps});
  std::vector<std::int64_t> steps;
  const auto look = [&](WorkerLink& link, std::int64_t step) {
    steps.push_back(step);
    REQUIRE(link.await_parameters(scene.elements).has_value());
    CHECK(std::ranges::count(link.parameters_on_host(), 0.0F) == 0);
  };
  work(scene, 0, gang.addresses(), {.at_step = look});
  CHECK(steps == std::vector<std::int64_t>{scene.max_steps});
}

TEST_CASE("a snapshot is of just the version that was asked for, while training goes on") {
  const GangScene scene{.ranks = 2, .servers = 2};
  Servers gang(scene);
  auto other = std::async(std::launch::async, [&] { return work(scene, 1, gang.addresses()); });
  CHECK(work(scene, 0, gang.addresses(), {.snapshot_at = 3}) == expected(scene, scene.max_steps));
  other.get();
  const GangState saved = gang.state_at(scene, 3);
  CHECK(saved.weights == expected(scene, 3));
  CHECK(saved.slots.size() == 2);
}

TEST_CASE("asynchronous workers make together just so many pushes") {
  const std::int64_t servers = GENERATE(1, 2);
  const bool shares = GENERATE(false, true);
  const GangScene near{.mode = Mode::async,
                       .ranks = 3,
                       .servers = servers,
                       .max_steps = 30,
                       .optimizer = OptimizerKind::sgd,
                       .local = shares,
                       .shares = shares};
  GangScene far = near;  // what is made in the memory of the others is sent to it
  far.local = far.shares = false;
  CAPTURE(servers, shares);
  const Servers gang(near);
  auto first = std::async(std::launch::async, [&] { return work(near, 0, gang.addresses()); });
  auto second = std::async(std::launch::async, [&] { return work(near, 1, gang.addresses()); });
  const auto end = work(far, 2, gang.addresses());
  CHECK(first.get() == end);
  CHECK(second.get() == end);
  CHECK(end != expected(near, 0));
}

}  // namespace trainyard::runtime
