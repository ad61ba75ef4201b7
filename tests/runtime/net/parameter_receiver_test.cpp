// An answer that comes bit by bit from a peer that sends as much of it as a test wants.
#include "runtime/net/parameter_receiver.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <span>
#include <vector>

#include "tests/runtime/net/lane_peer.h"

namespace trainyard::runtime {
namespace {

using namespace std::chrono_literals;
using test::LanePeer;

constexpr std::size_t elements = 3 << 20;  // more than sockets hold
// The system may keep this many floats to itself until more come: see StreamSocket::wake_at().
constexpr std::size_t bite = (256 << 10) / sizeof(float);

std::vector<float> some_parameters(float first) {
  std::vector<float> parameters(elements);
  for (std::size_t i = 0; i < elements; ++i) parameters[i] = first + static_cast<float>(i % 1000);
  return parameters;
}

void ask(StreamLane& lane, LanePeer& peer, std::vector<float>& place) {
  lane.send({}, {}, {std::as_writable_bytes(std::span(place))});
  peer.take_frame();
}

bool await(ParameterReceiver& receiver, const StreamLane& lane, std::size_t floats) {
  const ParameterReceiver::Need need{&lane, floats * sizeof(float)};
  return receiver.wait({&need, 1}, 20s);
}

}  // namespace

TEST_CASE("parameters are there from the first on, as they come", "[parameter_receiver]") {
  LanePeer peer;
  StreamLane lane = peer.lane();
  ParameterReceiver receiver;
  for (const float first : {1.0F, 5000.0F}) {
    const std::vector<float> sent = some_parameters(first);
    std::vector<float> place(elements);
    ask(lane, peer, place);
    peer.start({}, sent);
    peer.send();
    REQUIRE(test::header_of(lane).has_value());
    REQUIRE(lane.is_arriving());
    receiver.start({&lane});
    for (const std::size_t come : {elements / 3, elements / 2, elements}) {
      peer.send(come);
      const std::size_t there = come == elements ? elements : come - bite;
      REQUIRE(await(receiver, lane, there));
      CHECK(std::ranges::equal(std::span(place).first(there), std::span(sent).first(there)));
      CHECK(lane.has_come(come * sizeof(float) + 1) == false);
    }
    receiver.wait_until_idle();
    CHECK_FALSE(receiver.failure());
    CHECK_FALSE(lane.is_arriving());
  }
}

TEST_CASE("who waits for parameters is told when the ps is gone", "[parameter_receiver]") {
  LanePeer gone;
  LanePeer well;
  StreamLane broken = gone.lane();
  StreamLane lane = well.lane();
  std::vector<float> place(elements);
  std::vector<float> other_place(elements);
  const std::vector<float> sent = some_parameters(1);
  ParameterReceiver receiver;
  for (auto* const each : {&broken, &lane}) {
    LanePeer& peer = each == &broken ? gone : well;
    ask(*each, peer, each == &broken ? place : other_place);
    peer.start({}, sent);
    peer.send();
    REQUIRE(test::header_of(*each).has_value());
  }
  receiver.start({&broken, &lane});
  gone.send(elements / 2);
  gone.die();
  REQUIRE(await(receiver, broken, elements));
  CHECK_FALSE(broken.has_come(elements * sizeof(float)));
  const auto failure = receiver.failure();
  REQUIRE(failure);
  CHECK(failure->lane == &broken);
  CHECK(failure->error.code == Code::unavailable);
  well.send(elements);  // the other is not given up
  receiver.wait_until_idle();
  CHECK(other_place == sent);
}

}  // namespace trainyard::runtime
