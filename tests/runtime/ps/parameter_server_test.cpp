#include "runtime/ps/parameter_server.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using Effects = std::vector<PsEffect>;
using ChunkToSend = ParameterServer::ChunkToSend;

// Two ranks, three chunks, all of version 4.
ParameterServer a_server(Mode mode) {
  ParameterServer server({.mode = mode, .ranks = 2, .chunks = 3},
                         {.version = 4, .rank_steps = {3, 1}});
  server.step(WorkerJoined{0});
  server.step(WorkerJoined{1});
  return server;
}

bool is_refused(const Effects& effects) {
  return effects.size() == 1 && std::holds_alternative<RefuseWorker>(effects.front());
}

}  // namespace

TEST_CASE("what was before training began is asked for in vain", "[ps]") {
  ParameterServer server = a_server(Mode::sync);
  CHECK(is_refused(server.step(ParametersAsked{.rank = 1, .version = 3})));
  CHECK(server.step(ParametersAsked{.rank = 1, .version = 4}).empty());
}

TEST_CASE("with backup workers, who is late by more than there is is sent the newest", "[ps]") {
  ParameterServer server({.mode = Mode::sync, .ranks = 2, .chunks = 1, .aggregate = 1},
                         {.version = 4, .rank_steps = {}});
  server.step(WorkerJoined{0});
  server.step(ParametersAsked{.rank = 0, .version = 3});
  CHECK(server.next_to_send(0) == ChunkToSend{0, 4});
}

TEST_CASE("a chunk is updated when the gradients of all ranks are in, and answered to all",
          "[ps]") {
  ParameterServer server = a_server(Mode::sync);

  CHECK(server.step(GradientCame{.rank = 1, .step = 5, .chunk = 2}).empty());
  CHECK(server.next_to_send(1) == std::nullopt);
  CHECK(server.step(GradientCame{.rank = 0, .step = 5, .chunk = 2}) ==
        Effects{UpdateChunk{.chunk = 2, .version = 5, .ranks = {0, 1}}});

  CHECK(server.next_to_send(1) == ChunkToSend{2, 5});
  CHECK(server.next_to_send(1) == std::nullopt);
  CHECK(server.next_to_send(0) == ChunkToSend{2, 5});
  CHECK(server.version_of(1) == 4);
}

TEST_CASE("async updates a chunk of each gradient, and answers its rank with the newest", "[ps]") {
  ParameterServer server = a_server(Mode::async);

  CHECK(server.step(GradientCame{.rank = 1, .step = 2, .chunk = 0}) ==
        Effects{UpdateChunk{.chunk = 0, .version = 5, .ranks = {1}}});
  CHECK(server.step(GradientCame{.rank = 0, .step = 4, .chunk = 0}) ==
        Effects{UpdateChunk{.chunk = 0, .version = 6, .ranks = {0}, .staleness = 1}});

  CHECK(server.next_to_send(1) == ChunkToSend{0, 6});
  CHECK(server.next_to_send(0) == ChunkToSend{0, 6});
}

TEST_CASE("what the next forward pass reads first is sent first", "[ps]") {
  ParameterServer server = a_server(Mode::async);
  for (const std::int64_t chunk : {2, 0, 1}) {
    server.step(GradientCame{.rank = 0, .step = 4, .chunk = chunk});
  }
  CHECK(server.next_to_send(0) == ChunkToSend{0, 5});
  CHECK(server.next_to_send(0) == ChunkToSend{1, 5});
  CHECK(server.next_to_send(0) == ChunkToSend{2, 5});
}

TEST_CASE("a gradient that comes twice is dropped, and answered", "[ps]") {
  ParameterServer server = a_server(Mode::sync);
  const GradientCame gradient{.rank = 0, .step = 5, .chunk = 1};
  server.step(gradient);
  server.step(WorkerLeft{0});
  server.step(WorkerJoined{0});

  CHECK_FALSE(server.would_take(0, 5, 1));
  CHECK(server.step(gradient).empty());
  server.step(GradientCame{.rank = 1, .step = 5, .chunk = 1});
  CHECK(server.next_to_send(0) == ChunkToSend{1, 5});
  CHECK_FALSE(server.would_take(0, 5, 1));
  CHECK(server.step(gradient).empty());
  CHECK(server.next_to_send(0) == ChunkToSend{1, 5});
}

TEST_CASE("who has left is owed nothing", "[ps]") {
  ParameterServer server = a_server(Mode::async);
  server.step(GradientCame{.rank = 0, .step = 4, .chunk = 0});
  server.step(WorkerLeft{0});
  CHECK(server.next_to_send(0) == std::nullopt);
}

TEST_CASE("who joins is told where the chunks are that are furthest behind", "[ps]") {
  ParameterServer server = a_server(Mode::async);
  server.step(GradientCame{.rank = 1, .step = 2, .chunk = 0, .snapshot = 9});
  CHECK(server.step(WorkerJoined{1}) ==
        Effects{WelcomeWorker{.rank = 1, .version = 4, .rank_step = 1, .snapshot = 9}});
}

TEST_CASE("the version before the newest can be asked for, and no other", "[ps]") {
  ParameterServer server = a_server(Mode::sync);
  for (const std::int64_t rank : {0, 1}) {
    server.step(GradientCame{.rank = rank, .step = 5, .chunk = 0});
  }
  server.step(WorkerJoined{0});
  CHECK(server.step(ParametersAsked{.rank = 0, .version = 4}).empty());
  CHECK(server.next_to_send(0) == ChunkToSend{0, 4});
  CHECK(server.next_to_send(0) == ChunkToSend{1, 4});
  CHECK(is_refused(server.step(ParametersAsked{.rank = 0, .version = 3})));
  CHECK(is_refused(server.step(ParametersAsked{.rank = 0, .version = 5})));  // not of all chunks
}

TEST_CASE("a sync snapshot is what the chunk is when the marked step is made", "[ps]") {
  ParameterServer server = a_server(Mode::sync);
  server.step(GradientCame{.rank = 0, .step = 5, .chunk = 1, .snapshot = 5});
  CHECK(server.step(GradientCame{.rank = 1, .step = 5, .chunk = 1}) ==
        Effects{UpdateChunk{.chunk = 1, .version = 5, .ranks = {0, 1}},
                CopyChunk{.chunk = 1, .snapshot = 5},
                SaveCopy{.chunk = 1, .snapshot = 5, .version = 5, .rank_steps = {5, 5}}});
}

TEST_CASE("a sync snapshot is the chief's to mark", "[ps]") {
  ParameterServer server = a_server(Mode::sync);
  server.step(GradientCame{.rank = 1, .step = 5, .chunk = 1, .snapshot = 5});
  CHECK(server.step(GradientCame{.rank = 0, .step = 5, .chunk = 1}) ==
        Effects{UpdateChunk{.chunk = 1, .version = 5, .ranks = {0, 1}}});
}

TEST_CASE("who has ended begins no snapshot any more", "[ps]") {
  ParameterServer server = a_server(Mode::async);
  CHECK(server.step(RankEnded{.rank = 1, .snapshot = 1}).size() == 3);  // of each chunk a copy
  CHECK(server.step(RankEnded{.rank = 1, .snapshot = 2}).empty());
}

TEST_CASE("an async snapshot has what each rank pushed up to its mark", "[ps]") {
  ParameterServer server = a_server(Mode::async);
  CHECK(server.step(GradientCame{.rank = 0, .step = 4, .chunk = 1, .snapshot = 7}) ==
        Effects{UpdateChunk{.chunk = 1, .version = 5, .ranks = {0}},
                CopyChunk{.chunk = 1, .snapshot = 7}});
  // Past its mark; up to it; and the mark.
  CHECK(server.step(GradientCame{.rank = 0, .step = 5, .chunk = 1}) ==
        Effects{UpdateChunk{.chunk = 1, .version = 6, .ranks = {0}, .staleness = 1}});
  CHECK(server.step(GradientCame{.rank = 1, .step = 2, .chunk = 1}) ==
        Effects{UpdateChunk{
            .chunk = 1, .version = 7, .ranks = {1}, .updates_copy = true, .staleness = 2}});
  CHECK(server.step(GradientCame{.rank = 1, .step = 3, .chunk = 1, .snapshot = 7}) ==
        Effects{UpdateChunk{
                    .chunk = 1, .version = 8, .ranks = {1}, .updates_copy = true, .staleness = 3},
                SaveCopy{.chunk = 1, .snapshot = 7, .version = 7, .rank_steps = {4, 3}}});
}

TEST_CASE("nobody waits for the mark of a rank that has ended", "[ps]") {
  ParameterServer server({.mode = Mode::async, .ranks = 2, .chunks = 1}, {});
  server.step(WorkerJoined{0});
  server.step(WorkerJoined{1});

  SECTION("before the snapshot began") {
    CHECK(server.step(RankEnded{.rank = 1}).empty());
    CHECK(server.step(GradientCame{.rank = 0, .step = 1, .chunk = 0, .snapshot = 1}) ==
          Effects{UpdateChunk{.chunk = 0, .version = 1, .ranks = {0}},
                  CopyChunk{.chunk = 0, .snapshot = 1},
                  SaveCopy{.chunk = 0, .snapshot = 1, .version = 1, .rank_steps = {1, 0}}});
  }
  SECTION("after it") {
    server.step(GradientCame{.rank = 0, .step = 1, .chunk = 0, .snapshot = 1});
    CHECK(server.step(RankEnded{.rank = 1}) ==
          Effects{SaveCopy{.chunk = 0, .snapshot = 1, .version = 1, .rank_steps = {1, 0}}});
    CHECK(server.step(RankEnded{.rank = 1}).empty());
  }
  SECTION("it is the first to mark") {
    CHECK(server.step(RankEnded{.rank = 1, .snapshot = 1}) ==
          Effects{CopyChunk{.chunk = 0, .snapshot = 1}});
    CHECK(server.step(RankEnded{.rank = 0, .snapshot = 1}) ==
          Effects{SaveCopy{.chunk = 0, .snapshot = 1, .version = 0, .rank_steps = {0, 0}}});
  }
}

TEST_CASE("what makes no sense is refused, and changes nothing", "[ps]") {
  const Mode mode = GENERATE(Mode::sync, Mode::async);
  ParameterServer server = a_server(mode);
  const std::int64_t next = mode == Mode::sync ? 5 : 4;  // of rank 0

  CHECK(is_refused(server.step(WorkerJoined{2})));
  CHECK(is_refused(server.step(WorkerJoined{-1})));
  CHECK(is_refused(server.step(RankEnded{.rank = 7})));
  if (mode == Mode::sync) CHECK(is_refused(server.step(RankEnded{.rank = 1, .snapshot = 9})));
  CHECK(is_refused(server.step(ParametersAsked{.rank = 2, .version = 4})));
  CHECK(is_refused(server.step(GradientCame{.rank = 2, .step = next, .chunk = 0})));
  CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = next, .chunk = 3})));
  CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = next, .chunk = -1})));
  CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = next + 1, .chunk = 0})));
  CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = 0, .chunk = 0})));
  CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = -1, .chunk = 0})));
  if (mode == Mode::sync) {
    CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = 3, .chunk = 0})));
    CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = 5, .chunk = 0, .snapshot = 6})));
  }
  server.step(WorkerLeft{0});
  CHECK(is_refused(server.step(GradientCame{.rank = 0, .step = next, .chunk = 0})));
  CHECK(is_refused(server.step(ParametersAsked{.rank = 0, .version = 4})));

  CHECK(server.next_to_send(0) == std::nullopt);
  for (const std::int64_t chunk : {0, 1, 2}) CHECK(server.version_of(chunk) == 4);
  CHECK(server.step(WorkerJoined{0}) ==
        Effects{WelcomeWorker{.rank = 0, .version = 4, .rank_step = next - 1, .snapshot = 0}});
}

TEST_CASE("a snapshot's copy is whole when every rank's residual is in", "[ps]") {
  ParameterServer server({.mode = Mode::sync, .ranks = 2, .chunks = 1, .has_residuals = true},
                         {.version = 4, .rank_steps = {}});
  server.step(WorkerJoined{0});
  server.step(WorkerJoined{1});
  server.step(GradientCame{.rank = 0, .step = 5, .chunk = 0, .snapshot = 5});

  CHECK(server.step(GradientCame{.rank = 1, .step = 5, .chunk = 0}) ==
        Effects{UpdateChunk{.chunk = 0, .version = 5, .ranks = {0, 1}}, CopyChunk{0, 5}});
  CHECK(server.next_to_send(0) == ChunkToSend{0, 5, 5});
  CHECK(server.step(ResidualCame{.rank = 0, .chunk = 0, .snapshot = 4}).empty());
  CHECK(server.step(ResidualCame{.rank = 0, .chunk = 0, .snapshot = 5}).empty());
  CHECK(server.step(ResidualCame{.rank = 0, .chunk = 0, .snapshot = 5}).empty());
  CHECK(server.step(GradientCame{.rank = 0, .step = 6, .chunk = 0}).empty());
  CHECK(is_refused(server.step(GradientCame{.rank = 1, .step = 6, .chunk = 0})));

  // By a new connection it is asked again.
  server.step(WorkerJoined{1});
  server.step(GradientCame{.rank = 1, .step = 5, .chunk = 0});
  CHECK(server.next_to_send(1) == ChunkToSend{0, 5, 5});
  CHECK(server.step(ResidualCame{.rank = 1, .chunk = 0, .snapshot = 5}) ==
        Effects{SaveCopy{0, 5, 5, {5, 5}}});
  CHECK(server.step(GradientCame{.rank = 1, .step = 6, .chunk = 0}) ==
        Effects{UpdateChunk{.chunk = 0, .version = 6, .ranks = {0, 1}}});
  CHECK(server.next_to_send(1) == ChunkToSend{0, 6, 0});
}

TEST_CASE("async asks each rank for its residual with the answer to its last push in a snapshot",
          "[ps]") {
  ParameterServer server({.mode = Mode::async, .ranks = 2, .chunks = 1, .has_residuals = true}, {});
  server.step(WorkerJoined{0});
  server.step(WorkerJoined{1});
  server.step(GradientCame{.rank = 0, .step = 1, .chunk = 0, .snapshot = 8});
  server.step(GradientCame{.rank = 1, .step = 1, .chunk = 0});

  CHECK(server.next_to_send(0) == ChunkToSend{0, 2, 8});
  CHECK(server.next_to_send(1) == ChunkToSend{0, 2, 0});
  CHECK(server.step(ResidualCame{.rank = 0, .chunk = 0, .snapshot = 8}).empty());
  server.step(RankEnded{.rank = 1, .snapshot = 8});
  server.step(ParametersAsked{.rank = 1, .version = 2});
  CHECK(server.next_to_send(1) == ChunkToSend{0, 2, 8});
  CHECK(server.step(ResidualCame{.rank = 1, .chunk = 0, .snapshot = 8}) ==
        Effects{SaveCopy{0, 8, 2, {1, 1}}});
}

TEST_CASE("who keeps no residuals takes none", "[ps]") {
  ParameterServer server = a_server(Mode::sync);
  CHECK(is_refused(server.step(ResidualCame{.rank = 0, .chunk = 0, .snapshot = 5})));
}

}  // namespace trainyard::runtime
