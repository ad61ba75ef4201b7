// What a poll reports: bytes, room to send, the end of a peer, a bell.
#include "runtime/net/chunks/frame_poll.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

struct SocketPair {
  Descriptor near;
  Descriptor far;
};

SocketPair socket_pair() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

void write_byte(const Descriptor& to) {
  const char byte = 'a';
  REQUIRE(::write(to.get(), &byte, 1) == 1);
}

}  // namespace

TEST_CASE("a bell that was rung, however often, wakes one wait") {
  const auto poll =
      FramePoll::open(GENERATE(FramePoll::Reports::once, FramePoll::Reports::until_read));
  REQUIRE(poll.has_value());
  FramePoll::Events events;

  poll->ring();
  poll->ring();

  const auto found = poll->wait(events);
  REQUIRE(found.size() == 1);
  CHECK(found.front().is_bell);
  CHECK(poll->wait(events).empty());
}

TEST_CASE("bytes are reported once, or until they are read") {
  const auto reports = GENERATE(FramePoll::Reports::once, FramePoll::Reports::until_read);
  const auto poll = FramePoll::open(reports);
  REQUIRE(poll.has_value());
  const SocketPair sockets = socket_pair();
  REQUIRE(poll->add(sockets.near.get(), 7).has_value());
  FramePoll::Events events;

  write_byte(sockets.far);

  const auto found = poll->wait(events);
  REQUIRE(found.size() == 1);
  CHECK(found.front().key == 7);
  CHECK(found.front().has_input);
  CHECK_FALSE(found.front().is_bell);
  CHECK_FALSE(found.front().has_room);
  CHECK(poll->wait(events).empty() == (reports == FramePoll::Reports::once));
}

TEST_CASE("room to send is reported while it is watched") {
  const auto poll = FramePoll::open(FramePoll::Reports::until_read);
  REQUIRE(poll.has_value());
  const SocketPair sockets = socket_pair();
  REQUIRE(poll->add(sockets.near.get(), 7).has_value());
  FramePoll::Events events;

  CHECK(poll->wait(events).empty());
  REQUIRE(poll->watch(sockets.near.get(), 7, FramePoll::Room::watched).has_value());
  const auto found = poll->wait(events);
  REQUIRE(found.size() == 1);
  CHECK(found.front().has_room);
  CHECK_FALSE(found.front().has_input);
  REQUIRE(poll->watch(sockets.near.get(), 7, FramePoll::Room::ignored).has_value());
  CHECK(poll->wait(events).empty());
}

TEST_CASE("a peer that is gone is reported as the end") {
  const auto poll = FramePoll::open(FramePoll::Reports::once);
  REQUIRE(poll.has_value());
  SocketPair sockets = socket_pair();
  REQUIRE(poll->add(sockets.near.get(), 7).has_value());
  FramePoll::Events events;

  sockets.far = Descriptor();

  const auto found = poll->wait(events);
  REQUIRE(found.size() == 1);
  CHECK(found.front().has_input);
  CHECK(found.front().is_end);
}

}  // namespace trainyard::runtime
