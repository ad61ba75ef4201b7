// ParameterServer in sync with backup workers.
#include <catch2/catch.hpp>

#include "runtime/ps/parameter_server.h"

namespace trainyard::runtime {
namespace {

using Effects = std::vector<PsEffect>;
using ChunkToSend = ParameterServer::ChunkToSend;

constexpr std::int64_t ranks = 3;

// Two of three ranks make a step; two chunks, of version 4.
ParameterServer a_server() {
  ParameterServer server({.mode = Mode::sync, .ranks = ranks, .chunks = 2, .aggregate = 2},
                         {.version = 4, .rank_steps = {}});
  for (std::int64_t rank = 0; rank < ranks; ++rank) server.step(WorkerJoined{rank});
  return server;
}

StepNamed names_of(std::int64_t step, std::vector<std::int64_t> named, std::int64_t snapshot = 0) {
  return {.rank = 2, .named = {.step = step, .ranks = std::move(named), .snapshot = snapshot}};
}

// Both chunks of it come of these ranks.
void make(ParameterServer& server, std::int64_t step, const std::vector<std::int64_t>& named) {
  for (const std::int64_t rank : named) {
    for (const std::int64_t chunk : {0, 1}) server.step(GradientCame{rank, step, chunk});
  }
  server.step(names_of(step, named));
}

bool is_refused(const Effects& effects) {
  return effects.size() == 1 && std::holds_alternative<RefuseWorker>(effects.front());
}

}  // namespace

TEST_CASE("a chunk is updated when the ranks are named, and theirs are in", "[ps]") {
  ParameterServer server = a_server();
  SECTION("the names come last") {
    for (const std::int64_t rank : {0, 1, 2}) {
      CHECK(server.step(GradientCame{.rank = rank, .step = 5, .chunk = 1}).empty());
    }
    CHECK(server.step(names_of(5, {0, 2})) ==
          Effects{UpdateChunk{.chunk = 1, .version = 5, .ranks = {0, 2}}});
  }
  SECTION("a gradient does") {
    CHECK(server.step(names_of(5, {0, 2})).empty());
    CHECK(server.step(GradientCame{.rank = 1, .step = 5, .chunk = 1}).empty());
    CHECK(server.step(GradientCame{.rank = 2, .step = 5, .chunk = 1}).empty());
    CHECK(server.step(GradientCame{.rank = 0, .step = 5, .chunk = 1}) ==
          Effects{UpdateChunk{.chunk = 1, .version = 5, .ranks = {0, 2}}});
  }
  CHECK(server.version_of(0) == 4);
  // Whose gradient was not needed is answered as all are.
  for (const std::int64_t rank : {0, 1, 2}) CHECK(server.next_to_send(rank) == ChunkToSend{1, 5});
}

TEST_CASE("a late gradient is dropped, and answered with its version or with the newest", "[ps]") {
  ParameterServer server = a_server();
  make(server, 5, {0, 2});
  make(server, 6, {0, 2});
  CHECK(server.step(GradientCame{.rank = 1, .step = 5, .chunk = 0}).empty());
  CHECK(server.next_to_send(1) == ChunkToSend{0, 5});
  make(server, 7, {0, 2});
  CHECK(server.step(GradientCame{.rank = 1, .step = 5, .chunk = 0}).empty());
  CHECK(server.next_to_send(1) == ChunkToSend{0, 7});
  CHECK_FALSE(server.would_take(1, 5, 0));
  CHECK(server.would_take(1, 8, 0));
}

TEST_CASE("a late worker may ask for a chunk that is gone, or made elsewhere alone", "[ps]") {
  ParameterServer server = a_server();
  for (const std::int64_t step : {5, 6, 7}) make(server, step, {0, 2});
  CHECK(server.step(ParametersAsked{.rank = 1, .version = 4, .chunk = 1}).empty());
  CHECK(server.next_to_send(1) == ChunkToSend{1, 7});
  CHECK(server.step(ParametersAsked{.rank = 1, .version = 6, .chunk = 1}).empty());
  CHECK(server.next_to_send(1) == ChunkToSend{1, 6});

  CHECK(server.step(ParametersAsked{.rank = 1, .version = 8, .chunk = 1}).empty());
  CHECK(server.next_to_send(1) == std::nullopt);
  make(server, 8, {0, 2});
  CHECK(server.next_to_send(1) == ChunkToSend{1, 8});

  CHECK(is_refused(server.step(ParametersAsked{.rank = 1, .version = 10, .chunk = 1})));
  CHECK(is_refused(server.step(ParametersAsked{.rank = 1, .version = -1, .chunk = 1})));
  CHECK(is_refused(server.step(ParametersAsked{.rank = 1, .version = 8, .chunk = 2})));
  CHECK(is_refused(server.step(ParametersAsked{.rank = 1, .version = 8, .chunk = -1})));
}

TEST_CASE("the version that was named a snapshot is copied, whoever is in it", "[ps]") {
  ParameterServer server = a_server();
  for (const std::int64_t rank : {1, 2}) {
    server.step(GradientCame{.rank = rank, .step = 5, .chunk = 1});
  }
  CHECK(server.step(names_of(5, {1, 2}, 5)) ==
        Effects{UpdateChunk{.chunk = 1, .version = 5, .ranks = {1, 2}}, CopyChunk{1, 5},
                SaveCopy{1, 5, 5, {4, 5, 5}}});
  for (const std::int64_t rank : {1, 2}) {
    server.step(GradientCame{.rank = rank, .step = 5, .chunk = 0});
    server.step(GradientCame{.rank = rank, .step = 6, .chunk = 1});
  }
  CHECK(server.step(names_of(6, {1, 2}, 5)) ==
        Effects{UpdateChunk{.chunk = 1, .version = 6, .ranks = {1, 2}}});
}

TEST_CASE("who tells the same, or something older, changes nothing", "[ps]") {
  ParameterServer server = a_server();
  make(server, 5, {0, 2});
  make(server, 6, {0, 1});
  CHECK(server.step(names_of(6, {0, 1})).empty());
  CHECK(server.step(names_of(5, {0, 2})).empty());
  CHECK(server.version_of(0) == 6);
}

TEST_CASE("names that cannot be are refused, and change nothing", "[ps]") {
  ParameterServer server = a_server();
  make(server, 5, {0, 2});
  CHECK(is_refused(server.step(names_of(5, {0, 1}))));
  CHECK(is_refused(server.step(names_of(5, {0, 2}, 5))));
  CHECK(is_refused(server.step(names_of(7, {0, 1}))));
  CHECK(is_refused(server.step(names_of(6, {0}))));
  CHECK(is_refused(server.step(names_of(6, {0, 1, 2}))));
  CHECK(is_refused(server.step(names_of(6, {1, 0}))));
  CHECK(is_refused(server.step(names_of(6, {1, 1}))));
  CHECK(is_refused(server.step(names_of(6, {0, 3}))));
  CHECK(is_refused(server.step(names_of(6, {-1, 0}))));
  CHECK(is_refused(server.step(names_of(6, {0, 1}, 7))));
  CHECK(is_refused(server.step(names_of(6, {0, 1}, -1))));
  server.step(WorkerLeft{2});
  CHECK(is_refused(server.step(names_of(6, {0, 1}))));
  server.step(WorkerJoined{2});
  // Step 6 is named, and not made of all chunks.
  server.step(names_of(6, {0, 1}));
  for (const std::int64_t rank : {0, 1}) {
    server.step(GradientCame{.rank = rank, .step = 6, .chunk = 0});
  }
  CHECK(is_refused(server.step(names_of(7, {0, 1}))));

  ParameterServer plain({.mode = Mode::sync, .ranks = 3, .chunks = 1},
                        {.version = 5, .rank_steps = {}});
  plain.step(WorkerJoined{2});
  CHECK(is_refused(plain.step(names_of(6, {0, 1}))));
}

TEST_CASE("a snapshot is not asked for with a gradient, nor a step ahead sent", "[ps]") {
  ParameterServer server = a_server();
  CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = 5, .chunk = 0, .snapshot = 5})));
  CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = 6, .chunk = 0})));
  CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = 0, .chunk = 0})));
}

TEST_CASE("a ps without chunks goes along with any step", "[ps]") {
  ParameterServer server({.mode = Mode::sync, .ranks = 3, .chunks = 0, .aggregate = 2}, {});
  server.step(WorkerJoined{2});
  CHECK(server.step(names_of(3, {0, 1})).empty());
  CHECK(server.step(names_of(9, {1, 2})).empty());
}

}  // namespace trainyard::runtime
