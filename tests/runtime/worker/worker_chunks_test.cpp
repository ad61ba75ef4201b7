#include "runtime/worker/worker_chunks.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

using State = WorkerChunks::State;

}  // namespace

TEST_CASE("chunks are readable up to the first that is not there", "[exchange]") {
  WorkerChunks chunks({0, 1, 0}, 2, State::awaited);
  chunks.change(1, State::there);
  CHECK(chunks.readable() == 0);
  chunks.change(0, State::there);
  CHECK(chunks.readable() == 2);
  CHECK_FALSE(chunks.is_whole());
  chunks.change(2, State::there);
  CHECK(chunks.readable() == 3);
  CHECK(chunks.is_whole());
  chunks.change(1, State::final);
  CHECK(chunks.readable() == 1);
  CHECK_FALSE(chunks.is_whole());
}

TEST_CASE("of what is final the first of the arena is sent first, to its ps alone", "[exchange]") {
  WorkerChunks chunks({0, 1, 0}, 2, State::there);
  CHECK(chunks.is_sent());
  for (const std::int64_t chunk : {2, 1, 0}) chunks.change(chunk, State::final);
  CHECK(chunks.take_next_to_send(0) == 0);
  CHECK(chunks.state(0) == State::sent);
  CHECK(chunks.take_next_to_send(0) == 2);
  CHECK(chunks.take_next_to_send(0) == std::nullopt);
  CHECK_FALSE(chunks.is_sent());
  chunks.change(1, State::spent);
  CHECK(chunks.is_sent());
  CHECK(chunks.take_next_to_send(1) == std::nullopt);
}

TEST_CASE("what was sent to a ps that is gone is final again, and nothing else", "[exchange]") {
  WorkerChunks chunks({0, 1, 0}, 2, State::sent);
  chunks.change(2, State::there);
  chunks.change_all_of(0, State::sent, State::final);
  CHECK(chunks.state(0) == State::final);
  CHECK(chunks.state(1) == State::sent);
  CHECK(chunks.state(2) == State::there);
  chunks.change_all(State::sent, State::spent);
  CHECK(chunks.state(1) == State::spent);
  CHECK(chunks.state(0) == State::final);
}

TEST_CASE("a ps holds what is in its share", "[exchange]") {
  const WorkerChunks chunks({0, 2}, 3, State::spent);
  CHECK(chunks.holds(0));
  CHECK_FALSE(chunks.holds(1));
  CHECK(chunks.has(1));
  CHECK_FALSE(chunks.has(2));
  CHECK_FALSE(chunks.has(-1));
}

}  // namespace trainyard::runtime
