// What a worker makes of parameters that come ahead of an answer, and of a ps that breaks the
// rules.
#include "runtime/net/stream_lane.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "tests/runtime/net/lane_peer.h"

namespace trainyard::runtime {
namespace {

using test::LanePeer;

constexpr std::size_t elements = 20'000;  // and fewer than a socket holds
constexpr std::uint64_t bytes = elements * sizeof(float);
constexpr std::int64_t final_last = elements / 10;  // what is released at once

std::vector<float> parameters() {
  std::vector<float> made(elements);
  std::iota(made.begin(), made.end(), 1.0F);
  return made;
}

// Of a share of two ranges.
struct Worker {
  std::vector<float> gradient = std::vector<float>(elements, 1.0F);
  std::vector<float> first = std::vector<float>(elements / 4);
  std::vector<float> second = std::vector<float>(elements - elements / 4);

  [[nodiscard]] std::vector<std::span<std::byte>> places() {
    return {std::as_writable_bytes(std::span(first)), std::as_writable_bytes(std::span(second))};
  }
  // A gradient that has all left.
  void begin(StreamLane& lane, std::int64_t last = final_last) {
    const Share share{.ranges = {{0, elements}}};
    const std::vector<std::int64_t> cuts{0, final_last};
    lane.begin({}, tail_pieces(gradient, elements, share, cuts), places(), last);
    lane.release(0);
    REQUIRE(lane.send_on().has_value());
  }
  [[nodiscard]] std::vector<float> together() const {
    std::vector<float> all = first;
    all.insert(all.end(), second.begin(), second.end());
    return all;
  }
};

Result<proto::PullFrame> answer_of(StreamLane& lane) {
  for (;;) {
    TRY_ASSIGN(auto answer, lane.advance());
    if (answer) return *std::move(answer);
    test::await(lane);
  }
}

void send(LanePeer& peer, const proto::StreamPull& header, std::span<const float> floats) {
  peer.start(header, floats);
  peer.send(floats.size());
}

proto::StreamPull tail() {
  proto::StreamPull header;
  header.set_tail(true);
  return header;
}

proto::StreamPull answer(std::uint64_t bytes_ahead) {
  proto::StreamPull header;
  header.mutable_frame()->set_version(1);
  header.set_bytes_ahead(bytes_ahead);
  return header;
}

}  // namespace

TEST_CASE("parameters that come ahead of their answer are its end", "[stream_lane][tails]") {
  const std::vector<float> made = parameters();
  const std::span all(made);
  LanePeer peer;
  StreamLane lane = peer.lane();
  for (const std::size_t rest : {4'000, 0}) {
    INFO(rest << " elements in the answer");
    Worker worker;
    worker.begin(lane);
    CHECK(peer.take_gradient(bytes).takes_tails_after() == bytes - final_last * sizeof(float));
    send(peer, tail(), all.subspan(15'000));
    send(peer, tail(), all.subspan(rest, 15'000 - rest));  // of both ranges
    send(peer, answer((elements - rest) * sizeof(float)), all.first(rest));
    const auto answered = answer_of(lane);
    REQUIRE(answered.has_value());
    CHECK(answered->version() == 1);
    CHECK(worker.together() == made);
    CHECK(lane.has_come(bytes));
  }
}

TEST_CASE("a gradient that is whole when it is sent is answered from its end on at once",
          "[stream_lane][tails]") {
  LanePeer peer;
  StreamLane lane = peer.lane();
  Worker worker;
  worker.begin(lane, elements);
  const proto::StreamPush push = peer.take_gradient(bytes);
  REQUIRE(push.has_takes_tails_after());
  CHECK(push.takes_tails_after() == 0);
}

TEST_CASE("what has come ahead is there with the first of the rest", "[stream_lane][tails]") {
  const std::vector<float> made = parameters();
  const std::span all(made);
  LanePeer peer;
  StreamLane lane = peer.lane();
  Worker worker;
  worker.begin(lane);
  peer.take_gradient(bytes);
  send(peer, tail(), all.subspan(12'000));
  peer.start(answer(8'000 * sizeof(float)), all.first(12'000));
  peer.send(6'000);
  REQUIRE(test::header_of(lane).has_value());
  while (!lane.has_come(6'000 * sizeof(float))) {
    test::await(lane);
    REQUIRE(lane.receive_more().has_value());
  }
  CHECK(lane.is_arriving());
  CHECK_FALSE(lane.has_come(6'000 * sizeof(float) + 1));
  peer.send(12'000);
  while (lane.is_arriving()) {
    test::await(lane);
    REQUIRE(lane.receive_more().has_value());
  }
  CHECK(lane.has_come(bytes));
  CHECK(worker.together() == made);
}

TEST_CASE("what has come ahead does not count unless the answer says so", "[stream_lane][tails]") {
  const std::vector<float> made = parameters();
  const std::vector<float> other(elements, -1.0F);
  LanePeer peer;
  StreamLane lane = peer.lane();
  Worker worker;
  worker.begin(lane);
  peer.take_gradient(bytes);
  send(peer, tail(), std::span(other).first(5'000));
  send(peer, answer(0), made);
  REQUIRE(answer_of(lane).has_value());
  CHECK(worker.together() == made);

  worker.begin(lane);
  peer.take_gradient(bytes);
  send(peer, tail(), std::span(other).first(5'000));
  proto::StreamPull held;
  held.mutable_frame()->set_held(true);
  send(peer, held, {});
  const auto answered = answer_of(lane);
  REQUIRE(answered.has_value());
  CHECK(answered->held());
  lane.send({}, {}, worker.places());
  peer.take_frame();
  send(peer, answer(0), made);
  REQUIRE(answer_of(lane).has_value());
  CHECK(worker.together() == made);
}

TEST_CASE("a ps that sends other parameters ahead than were asked for is not believed",
          "[stream_lane][tails]") {
  const std::vector<float> made = parameters();
  const std::span all(made);
  const auto error_after = [](const auto& say) {
    LanePeer peer;
    StreamLane lane = peer.lane();
    Worker worker;
    worker.begin(lane);
    peer.take_gradient(bytes);
    say(peer);
    const auto answered = answer_of(lane);
    return answered.has_value() ? std::string() : answered.error().message;
  };
  CHECK(error_after([&](LanePeer& peer) { send(peer, tail(), {}); }) ==
        "0 bytes ahead of an answer, where it has 80000");
  CHECK(error_after([&](LanePeer& peer) {
          send(peer, tail(), all.first(15'000));
          send(peer, tail(), all.first(5'001));
        }) == "20004 bytes ahead of an answer, where it has 20000");
  CHECK(error_after([&](LanePeer& peer) { send(peer, answer(4000), all.first(19'000)); }) ==
        "answered without 4000 bytes, which did not come");
  CHECK(error_after([&](LanePeer& peer) {
          send(peer, tail(), all.first(3'000));
          send(peer, answer(4000), all.first(19'000));
        }) == "answered without 4000 bytes, which did not come");
  CHECK(error_after([&](LanePeer& peer) {
          send(peer, tail(), all.first(3'000));
          send(peer, answer(12'000), all.first(10));
        }) == "answered with 40 bytes, not 68000");
}

TEST_CASE("parameters ahead of an answer that nobody asked for so are refused",
          "[stream_lane][tails]") {
  const std::vector<float> made = parameters();
  LanePeer peer;
  StreamLane lane = peer.lane();
  Worker worker;
  lane.send({}, {}, worker.places());
  CHECK_FALSE(peer.take_frame().has_takes_tails_after());
  send(peer, tail(), std::span(made).first(5'000));
  const auto answered = answer_of(lane);
  REQUIRE_FALSE(answered.has_value());
  CHECK(answered.error() == invalid("parameters ahead of an answer, unasked"));
}

}  // namespace trainyard::runtime
