// Event streams: framing, clients that leave, clients that do not read, and Pistache's own timeouts
// under them.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "api/http/response_stream.h"
#include "tests/api/http/raw_client.h"
#include "tests/api/http/test_server.h"

using namespace trainyard;
using namespace trainyard::api;

TEST_CASE("an event is written as lines that end with an empty one", "[http]") {
  CHECK(event_text({.id = "7", .event = "metric", .data = "{}"}) ==
        "id: 7\nevent: metric\ndata: {}\n\n");
  CHECK(event_text({.id = "", .event = "", .data = "a\nb"}) == "data: a\ndata: b\n\n");
  CHECK(event_text({.id = "", .event = "end", .data = ""}) == "event: end\ndata: \n\n");
}

TEST_CASE("a stream is chunked, flows as it is written, and ends with its last chunk", "[http]") {
  TestServer server;
  RawClient client(server.address());
  client.request("GET /stream");
  REQUIRE(server.wait_for_streams(1));
  const auto stream = server.streams().front();

  CHECK(stream->write("data: 1\n\n"));
  const RawResponse head = client.read_to_head();
  CHECK(head.headers.at("content-type") == "text/event-stream");
  CHECK(head.headers.at("transfer-encoding") == "chunked");
  CHECK(client.read_until("data: 1") == "9\r\ndata: 1\n\n\r\n");
  stream->write("data: 2\n\n");
  stream->finish();
  CHECK(client.read_until("0\r\n\r\n").ends_with("9\r\ndata: 2\n\n\r\n0\r\n\r\n"));
  CHECK(client.ended());
  CHECK_FALSE(stream->write("data: 3\n\n"));
}

TEST_CASE("a client that leaves ends its stream and is told of once", "[http]") {
  TestServer server;
  RawClient client(server.address());
  client.request("GET /stream");
  REQUIRE(server.wait_for_streams(1));

  client.hang_up(RawClient::HangUp::politely);

  CHECK(server.wait_for_gone(1));
  CHECK(server.streams().front()->gone());
  CHECK_FALSE(server.streams().front()->write("data: x\n\n"));
}

TEST_CASE("a piece larger than the bound is sent when nothing waits before it", "[http]") {
  TestServer server;
  RawClient client(server.address());
  client.request("GET /stream");
  REQUIRE(server.wait_for_streams(1));
  const auto stream = server.streams().front();
  const std::string piece(10 << 20, 'x');

  CHECK(stream->write(piece + "end"));

  CHECK(client.read_until("end").size() > piece.size());
  CHECK_FALSE(stream->gone());
}

TEST_CASE("a client that does not read is dropped when its bound is reached", "[http]") {
  TestServer server;
  RawClient idle(server.address());
  RawClient busy(server.address());
  idle.request("GET /stream");
  REQUIRE(server.wait_for_streams(1));
  const auto stream = server.streams().front();
  const std::string piece(100'000, 'x');

  int pieces = 0;  // what the sockets' own buffers take comes first
  while (pieces < 1000 && stream->write(piece)) ++pieces;

  CHECK(pieces < 1000);
  CHECK(server.wait_for_gone(1));
  CHECK(busy.call("GET /now/well").body == "well");
}

TEST_CASE("a client that stalls in the middle of an answer is dropped", "[http]") {
  TestServer server({.stall_limit = std::chrono::milliseconds(200)});
  const long before = open_descriptors();
  RawClient stalled(server.address());
  stalled.request("GET /huge/x");  // more than all buffers on the way hold
  RawClient other(server.address());
  CHECK(other.call("GET /now/y").body == "y");
  other.hang_up(RawClient::HangUp::politely);

  CHECK(descriptors_return_to(before + 1));  // the stalled client's own
}

TEST_CASE("a stream outlives the idle limit that ends quiet connections", "[http]") {
  TestServer server({.idle_limit = std::chrono::milliseconds(1000),
                     .heartbeat_every = std::chrono::milliseconds(100)});
  RawClient streaming(server.address());
  RawClient quiet(server.address());
  streaming.request("GET /stream");
  REQUIRE(server.wait_for_streams(1));
  CHECK(quiet.call("GET /now/x").body == "x");

  CHECK(quiet.ended());  // without a word: no 408 is ever written
  const auto stream = server.streams().front();
  CHECK(stream->write("data: alive\n\n"));
  CHECK(streaming.read_until("data: alive").find("data: alive") != std::string::npos);
  streaming.send("noise after the reader has let go");
  streaming.hang_up(RawClient::HangUp::with_reset);
  while (stream->write("data: more\n\n")) continue;
  CHECK(server.wait_for_gone(1));
  CHECK(RawClient(server.address()).call("GET /now/well").body == "well");
}
