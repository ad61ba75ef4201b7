// Sockets that listen: when they are heard, and whose port it is.
#include "runtime/net/stream_socket.h"

#include <catch2/catch.hpp>

#include "tests/support/waiting.h"

namespace trainyard::runtime {
namespace {

bool hears(int port) {
  return StreamSocket::connect_tcp("127.0.0.1:0", port, in_patience(), std::stop_token())
      .has_value();
}

}  // namespace

TEST_CASE("who is only bound has a port, and is heard when it listens") {
  const auto socket = StreamSocket::bind_tcp("127.0.0.1:0", 0);
  REQUIRE(socket.has_value());
  REQUIRE(socket->port() > 0);
  CHECK_FALSE(hears(socket->port()));
  REQUIRE(socket->start_listening().has_value());
  CHECK(hears(socket->port()));
}

TEST_CASE("a port that another one listens at is a conflict that names it") {
  const auto holder = StreamSocket::listen_tcp("127.0.0.1:0");
  REQUIRE(holder.has_value());
  const auto second = StreamSocket::listen_tcp("127.0.0.1:0", holder->port());
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == Code::conflict);
  CHECK(second.error().message.find(std::to_string(holder->port())) != std::string::npos);
}

}  // namespace trainyard::runtime
