// Parameters that go to a worker ahead of its answer, while gradients of the step still come.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/runtime/net/gradient_pieces.h"

namespace trainyard::runtime {
namespace {

using test::all_floats, test::Begun, test::Door, test::doors, test::Gang, test::gang_of_pieces,
    test::GangSpec, test::parameters_of_step, test::piece, test::pieces, test::pull_of,
    test::push_of, test::receive_tails, test::StreamClient, test::worker;

// The rest of them, the answer, and all its parameters in one.
std::string receive_answer(StreamClient& client, std::string ahead) {
  const auto last = receive_tails(client, SIZE_MAX, ahead);
  CHECK(last.pull.frame().version() == 1);
  REQUIRE(last.pull.bytes_ahead() == ahead.size());
  return last.data + ahead;
}

}  // namespace

TEST_CASE("parameters whose gradients have come go ahead of the answer", "[stream_port][tails]") {
  const std::string expected = parameters_of_step(1);
  const Begun begun(0);
  for (const Door door : doors) {
    const Gang gang(gang_of_pieces(1));
    StreamClient client = worker(gang, 0, door);
    std::string ahead;
    REQUIRE(client.send(begun.head() + std::string(begun.pieces_of(2))));
    receive_tails(client, piece, ahead);
    CHECK(expected.ends_with(ahead));
    REQUIRE(client.send(begun.pieces_of(2)));
    receive_tails(client, 3 * piece, ahead);
    CHECK(expected.ends_with(ahead));
    REQUIRE(client.send(begun.pieces_of(2)));
    CHECK(receive_answer(client, ahead) == expected);
  }
}

TEST_CASE("nothing goes ahead to who does not take it", "[stream_port][tails]") {
  const std::string expected = parameters_of_step(2);
  const Gang gang(gang_of_pieces(2));
  StreamClient whole = worker(gang, 0, Door::tcp);
  REQUIRE(whole.send(push_of(0, 1, all_floats)));
  StreamClient other = worker(gang, 1, Door::tcp);
  const Begun begun(1);
  std::string ahead;
  REQUIRE(other.send(begun.head() + std::string(begun.pieces_of(3))));
  receive_tails(other, 2 * piece, ahead);
  REQUIRE(other.send(begun.pieces_of(3)));
  CHECK(receive_answer(other, ahead) == expected);
  const auto answer = whole.receive_message();
  REQUIRE(answer.has_value());
  CHECK_FALSE(answer->pull.tail());
  CHECK(answer->pull.bytes_ahead() == 0);
  CHECK(answer->data == expected);
}

TEST_CASE("who has pushed all has what others have pushed, too", "[stream_port][tails]") {
  const std::string expected = parameters_of_step(2);
  const Begun of_fast(0);
  const Begun of_slow(1);
  for (const Door door : doors) {
    const Gang gang(gang_of_pieces(2));
    StreamClient fast = worker(gang, 0, door);
    StreamClient slow = worker(gang, 1, door);
    REQUIRE(fast.send(of_fast.head() + std::string(of_fast.pieces_of(pieces))));
    REQUIRE(slow.send(of_slow.head() + std::string(of_slow.pieces_of(4))));
    std::string ahead;
    receive_tails(fast, 3 * piece, ahead);
    CHECK(expected.ends_with(ahead));
    REQUIRE(slow.send(of_slow.pieces_of(2)));
    CHECK(receive_answer(fast, ahead) == expected);
    CHECK(receive_answer(slow, {}) == expected);
  }
}

TEST_CASE("nothing goes ahead to who still computes", "[stream_port][tails]") {
  const std::string expected = parameters_of_step(2);
  const Begun of_busy(0);
  const Begun of_other(1);
  for (const Door door : doors) {
    const Gang gang(gang_of_pieces(2));
    StreamClient busy = worker(gang, 0, door);
    StreamClient other = worker(gang, 1, door);
    REQUIRE(busy.send(of_busy.head(4) + std::string(of_busy.pieces_of(4))));
    REQUIRE(other.send(of_other.head() + std::string(of_other.pieces_of(pieces))));
    std::string ahead;
    receive_tails(other, 3 * piece, ahead);
    CHECK_FALSE(busy.has_news());  // it would have been sent first
    REQUIRE(busy.send(of_busy.pieces_of(1)));
    std::string come;
    receive_tails(busy, 3 * piece, come);
    REQUIRE(busy.send(of_busy.pieces_of(1)));
    CHECK(receive_answer(busy, come) == expected);
    CHECK(receive_answer(other, ahead) == expected);
  }
}

TEST_CASE("a refused worker that goes on is dropped, though it reads nothing",
          "[stream_port][tails]") {
  constexpr std::int64_t many = 16 << 20;  // more than the system keeps on its way
  constexpr std::size_t large = many * sizeof(float) / 2;
  const Gang gang({.elements = many});
  StreamClient hasty = worker(gang, 0, Door::tcp);
  proto::StreamPush push;
  *push.mutable_frame() = push_of(0, 1, 0);
  push.add_pieces_from_end(large);
  push.add_pieces_from_end(large);
  push.set_takes_tails_after(0);
  const std::string half(large, '\0');
  REQUIRE(hasty.send(StreamClient::head(push, 2 * large) + half + half));
  while (hasty.send(StreamClient::head(push, 2 * large) + half)) {
  }
  CHECK(hasty.is_cut());
}

TEST_CASE("who is back after some went ahead is answered with all", "[stream_port][tails]") {
  const std::string expected = parameters_of_step(1);
  const Begun begun(0);
  GangSpec spec = gang_of_pieces(1);
  spec.return_limit = std::chrono::seconds(60);
  for (const Door door : doors) {
    const Gang gang(spec);
    {
      StreamClient lost = worker(gang, 0, door);
      std::string ahead;
      REQUIRE(lost.send(begun.head() + std::string(begun.pieces_of(3))));
      receive_tails(lost, 2 * piece, ahead);
    }
    StreamClient successor = worker(gang, 0, door);
    const auto answer = successor.exchange(push_of(0, 1, all_floats));
    REQUIRE(answer.has_value());
    CHECK(answer->data() == expected);
  }
}

TEST_CASE("who is back has ahead what was updated before it came, too", "[stream_port][tails]") {
  const std::string expected = parameters_of_step(2);
  const Begun of_lost(0);
  const Begun of_other(1);
  GangSpec spec = gang_of_pieces(2);
  spec.return_limit = std::chrono::seconds(60);
  const Gang gang(spec);
  StreamClient other = worker(gang, 1, Door::tcp);
  REQUIRE(other.send(of_other.head() + std::string(of_other.pieces_of(pieces))));
  {
    StreamClient lost = worker(gang, 0, Door::tcp);
    std::string ahead;
    REQUIRE(lost.send(of_lost.head() + std::string(of_lost.pieces_of(3))));
    receive_tails(lost, 2 * piece, ahead);
  }
  StreamClient successor = worker(gang, 0, Door::tcp);
  REQUIRE(successor.send(of_lost.head() + std::string(of_lost.pieces_of(5))));
  std::string ahead;
  receive_tails(successor, 4 * piece, ahead);
  CHECK(expected.ends_with(ahead));
  REQUIRE(successor.send(of_lost.pieces_of(1)));
  CHECK(receive_answer(successor, ahead) == expected);
  CHECK(receive_answer(other, {}) == expected);
}

TEST_CASE("a step that will not be made is refused after what went ahead of it",
          "[stream_port][tails]") {
  constexpr std::int64_t many = 16 << 20;  // more than the system keeps on its way
  constexpr std::size_t large = many * sizeof(float) / 2;
  proto::StreamPush push;
  push.add_pieces_from_end(large);
  push.add_pieces_from_end(large);
  push.set_takes_tails_after(0);
  const std::string half(large, '\0');
  for (const Door door : doors) {
    const Gang gang({.workers = 2, .elements = many});
    StreamClient waiting = worker(gang, 0, door);
    *push.mutable_frame() = push_of(0, 1, 0);
    REQUIRE(waiting.send(StreamClient::head(push, 2 * large) + half + half));
    {
      StreamClient lost = worker(gang, 1, door);
      *push.mutable_frame() = push_of(1, 1, 0);
      REQUIRE(lost.send(StreamClient::head(push, 2 * large) + half + half.substr(0, piece)));
      std::string ahead;
      receive_tails(lost, large, ahead);
    }
    std::string ahead;
    const auto last = receive_tails(waiting, SIZE_MAX, ahead);
    CHECK_FALSE(ahead.empty());
    CHECK(last.pull.message() == "the worker of rank 1 is gone");
  }
}

}  // namespace trainyard::runtime
