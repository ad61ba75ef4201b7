// What a worker makes of parameters that come ahead of an answer, and of a ps that breaks the
// rules.
#include "runtime/net/stream_lane.h"

#include <poll.h>

#include <catch2/catch.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "tests/runtime/net/lane_peer.h"

namespace trainyard::runtime {
namespace {

using test::LanePeer;

constexpr std::size_t elements = 100'000;
constexpr std::uint64_t bytes = elements * sizeof(float);

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
  void begin(StreamLane& lane) {
    const Share share{.ranges = {{0, elements}}};
    const std::vector<std::int64_t> cuts{0, elements / 2};
    lane.begin({}, tail_pieces(gradient, elements, share, cuts), places());
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
    pollfd waiting{.fd = lane.descriptor(), .events = lane.awaited(), .revents = 0};
    if (::poll(&waiting, 1, 20'000) <= 0) return unavailable("no answer");
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
  Worker worker;
  worker.begin(lane);
  CHECK(peer.take_frame(bytes).takes_tails());
  send(peer, tail(), all.subspan(90'000));
  send(peer, tail(), all.subspan(20'000, 70'000));  // of both ranges
  send(peer, answer(80'000 * sizeof(float)), all.first(20'000));
  const auto answered = answer_of(lane);
  REQUIRE(answered.has_value());
  CHECK(answered->version() == 1);
  CHECK(worker.together() == made);
  CHECK(lane.has_come(bytes));
}

TEST_CASE("what has come ahead does not count unless the answer says so", "[stream_lane][tails]") {
  const std::vector<float> made = parameters();
  const std::vector<float> other(elements, -1.0F);
  LanePeer peer;
  StreamLane lane = peer.lane();
  Worker worker;
  worker.begin(lane);
  peer.take_frame(bytes);
  send(peer, tail(), std::span(other).first(50'000));
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
    peer.take_frame(bytes);
    say(peer);
    const auto answered = answer_of(lane);
    return answered.has_value() ? std::string() : answered.error().message;
  };
  CHECK(error_after([&](LanePeer& peer) { send(peer, tail(), {}); }) ==
        "0 bytes ahead of an answer, where it has 400000");
  CHECK(error_after([&](LanePeer& peer) {
          send(peer, tail(), all.first(99'000));
          send(peer, tail(), all.first(1'001));
        }) == "4004 bytes ahead of an answer, where it has 4000");
  CHECK(error_after([&](LanePeer& peer) { send(peer, answer(4000), all.first(99'000)); }) ==
        "answered without 4000 bytes, which did not come");
  CHECK(error_after([&](LanePeer& peer) {
          send(peer, tail(), all.first(3'000));
          send(peer, answer(4000), all.first(99'000));
        }) == "answered without 4000 bytes, which did not come");
  CHECK(error_after([&](LanePeer& peer) {
          send(peer, tail(), all.first(3'000));
          send(peer, answer(12'000), all.first(10));
        }) == "answered with 40 bytes, not 388000");
}

TEST_CASE("parameters ahead of an answer that nobody asked for so are refused",
          "[stream_lane][tails]") {
  const std::vector<float> made = parameters();
  LanePeer peer;
  StreamLane lane = peer.lane();
  Worker worker;
  lane.send({}, {}, worker.places());
  CHECK_FALSE(peer.take_frame().takes_tails());
  send(peer, tail(), std::span(made).first(50'000));
  const auto answered = answer_of(lane);
  REQUIRE_FALSE(answered.has_value());
  CHECK(answered.error() == invalid("parameters ahead of an answer, unasked"));
}

}  // namespace trainyard::runtime
