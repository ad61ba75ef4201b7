// The server over real sockets: routing, methods, answers from other threads, closing, files.
#include "api/http/server.h"

#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "tests/api/http/raw_client.h"
#include "tests/api/http/test_server.h"

using namespace trainyard;
using namespace trainyard::api;

TEST_CASE("a route gets decoded parameters, queries in order and the body", "[http]") {
  TestServer server;
  RawClient client(server.address());

  const RawResponse response =
      client.call("POST /echo/a%2Fb/%C3%A9?x=1&y=a+b%26&x=2", "", "{\"k\": 1}");

  CHECK(response.status == 200);
  CHECK(response.body == "POST\nfirst=a/b\nsecond=\xC3\xA9\n?x=1\n?y=a b&\n?x=2\n{\"k\": 1}");
  CHECK(response.headers.at("content-type") == "application/json");
  CHECK(response.headers.at("x-content-type-options") == "nosniff");
}

TEST_CASE("what no route matches is a 404, a wrong method a 405 that says what is allowed",
          "[http]") {
  TestServer server;
  RawClient client(server.address());

  const RawResponse missing = client.call("GET /nowhere");
  CHECK(missing.status == 404);
  CHECK(missing.headers.at("content-type") == "application/problem+json");
  CHECK(missing.body.find("\"code\":\"not_found\"") != std::string::npos);
  CHECK(client.call("GET //now//x").status == 404);
  CHECK(client.call("GET /now/").status == 404);

  const RawResponse refused = client.call("DELETE /echo/a/b");
  CHECK(refused.status == 405);
  CHECK(refused.headers.at("allow") == "GET, HEAD, POST, OPTIONS");
  const RawResponse options = client.call("OPTIONS /echo/a/b");
  CHECK(options.status == 204);
  CHECK(options.headers.at("allow") == "GET, HEAD, POST, OPTIONS");
}

TEST_CASE("HEAD gets the head of GET with the length of its body", "[http]") {
  TestServer server;
  RawClient client(server.address());

  client.request("HEAD /now/four");
  const RawResponse head = client.read_to_head();

  CHECK(head.status == 200);
  CHECK(head.headers.at("content-length") == "4");
  CHECK(client.call("GET /now/next").body == "next");
  client.request("HEAD /stream");
  CHECK(client.read_to_head().status == 200);
  CHECK(client.ended());
}

TEST_CASE("one connection carries many requests, answered from any thread", "[http]") {
  TestServer server;
  RawClient client(server.address());

  for (int number = 0; number < 200; ++number) {
    const std::string tag = std::to_string(number);
    REQUIRE(client.call("GET /now/" + tag).body == tag);
    REQUIRE(client.call("GET /later/" + tag).body == tag);
  }
}

TEST_CASE("an answer larger than the socket's buffers arrives whole", "[http]") {
  TestServer server;
  RawClient client(server.address());

  for (int number = 0; number < 5; ++number) {
    const std::string tag = std::to_string(number);
    CHECK(client.call("GET /large/" + tag).body == tag + std::string(1 << 20, '.') + tag);
  }
}

TEST_CASE("a handler that throws or forgets to answer gives a 500 without internals", "[http]") {
  TestServer server;
  RawClient client(server.address());

  for (const char* path : {"GET /throws", "GET /throws-a-number", "GET /forgets"}) {
    const RawResponse response = client.call(path);
    CHECK(response.status == 500);
    CHECK(response.headers.at("content-type") == "application/problem+json");
    CHECK(response.body.find("secret") == std::string::npos);
  }
}

TEST_CASE("the connection is closed when the client asks for it and for HTTP/1.0", "[http]") {
  TestServer server;

  RawClient asks(server.address());
  const RawResponse closed = asks.call("GET /later/x", "Connection: close\r\n");
  CHECK(closed.body == "x");
  CHECK(closed.headers.at("connection") == "close");
  CHECK(asks.ended());

  RawClient old(server.address());
  old.send("GET /now/y HTTP/1.0\r\n\r\n");
  CHECK(old.read().body == "y");
  CHECK(old.ended());
}

TEST_CASE("a client that closes its sending side still gets its answer", "[http]") {
  TestServer server;
  RawClient client(server.address());

  client.request("GET /later/half");
  client.close_sending();

  CHECK(client.read().body == "half");
}

TEST_CASE("a pipelined request is not answered: the first is, then the connection closes",
          "[http]") {
  TestServer server;
  RawClient client(server.address());

  client.send(
      "GET /later/first HTTP/1.1\r\nHost: localhost\r\n\r\nGET /now/second HTTP/1.1\r\nHost: "
      "localhost\r\n\r\n");

  const RawResponse first = client.read();
  CHECK(first.body == "first");
  CHECK(first.headers.at("connection") == "close");
  CHECK(client.ended());
}

TEST_CASE("a client that waits for 100 Continue is told to go on, or that the body is too large",
          "[http]") {
  TestServer server;

  RawClient polite(server.address());
  polite.send(
      "POST /echo/a/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: "
      "100-continue\r\n\r\n");
  CHECK(polite.read_to_head().status == 100);
  polite.send("hi");
  CHECK(polite.read().status == 200);

  RawClient large(server.address());
  large.send(
      "POST /echo/a/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\nExpect: "
      "100-continue\r\n\r\n");
  CHECK(large.read().status == 413);
}

TEST_CASE("pages of other sites may read but not change", "[http]") {
  TestServer server;
  RawClient client(server.address());

  CHECK(client.call("POST /echo/a/b", "Origin: http://evil.example\r\n", "{}").status == 403);
  CHECK(client.call("POST /echo/a/b", "Origin: null\r\n", "{}").status == 403);
  CHECK(client.call("POST /echo/a/b", "Sec-Fetch-Site: cross-site\r\n", "{}").status == 403);
  CHECK(client.call("POST /echo/a/b", "Origin: http://localhost\r\n", "{}").status == 200);
  CHECK(client.call("GET /now/x", "Origin: http://evil.example\r\n").status == 200);
}

TEST_CASE("on the loopback interface only its own names are answered", "[http]") {
  TestServer server;
  const auto status_for = [&](const std::string& host) {
    RawClient client(server.address());
    client.send("GET /now/x HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
    return client.read().status;
  };

  for (const char* own : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.3.2.1", "[::1]:8080",
                          "yard.localhost", "localhost."}) {
    INFO(own);
    CHECK(status_for(own) == 200);
  }
  for (const char* other : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8080",
                            "10.0.0.1", "[::2]", "127.1"}) {
    INFO(other);
    CHECK(status_for(other) == 421);
  }
}

TEST_CASE("files come whole, in ranges, or not at all when the client has them", "[http]") {
  TestServer server;
  RawClient client(server.address());

  const RawResponse whole = client.call("GET /file");
  CHECK(whole.status == 200);
  CHECK(whole.body.size() == 10'000);
  CHECK(whole.headers.at("etag") == "\"v1\"");

  const RawResponse part = client.call("GET /file", "Range: bytes=9995-20000\r\n");
  CHECK(part.status == 206);
  CHECK(part.body == "56789");
  CHECK(part.headers.at("content-range") == "bytes 9995-9999/10000");
  CHECK(client.call("GET /file", "Range: bytes=-3\r\n").body == "789");
  CHECK(client.call("GET /file", "Range: Bytes=9995-99999999999999999999\r\n").body == "56789");
  CHECK(client.call("GET /file", "Range: bytes=99999999999999999999-\r\n").status == 416);
  CHECK(client.call("GET /file", "Range: bytes=-99999999999999999999\r\n").status == 206);
  CHECK(client.call("GET /file", "Range: bytes=+1-2\r\n").status == 200);
  CHECK(client.call("GET /file", "Range: bytes=10000-\r\n").status == 416);
  CHECK(client.call("GET /file", "Range: bytes=0-0\r\nIf-Range: \"v0\"\r\n").status == 200);
  CHECK(client.call("GET /file", "Range: bytes=0-0\r\nIf-Range: \"v1\"\r\n").body == "0");
  CHECK(client.call("GET /file", "If-None-Match: \"v0\", W/\"v1\"\r\n").status == 304);
  CHECK(client.call("GET /now/after").body == "after");
}

TEST_CASE("a server beyond loopback or on a bad address does not start", "[http]") {
  for (const char* address :
       {"0.0.0.0:0", "8080", "127.0.0.1:", "127.0.0.1:65536", "::1:80", "x:80"}) {
    const auto started = Server::start({.address = address}, {});
    REQUIRE_FALSE(started.has_value());
    CHECK(started.error().code == Code::invalid);
  }
  CHECK(
      Server::start({.address = "0.0.0.0:0", .exposure = Exposure::any_interface}, {}).has_value());
}

TEST_CASE("an address that is taken is an error that names it", "[http]") {
  TestServer server;

  const auto second = Server::start({.address = server.address()}, {});

  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == Code::unavailable);
  CHECK(second.error().message.find(server.address()) != std::string::npos);
}

TEST_CASE("a stop lets answers that are due be given", "[http]") {
  TestServer server;
  std::promise<void> gate;
  std::promise<void> at_gate;
  server.later.run([&] {
    at_gate.set_value();
    gate.get_future().wait();
  });
  at_gate.get_future().wait();
  RawClient client(server.address());
  client.request("GET /large/due");
  REQUIRE(server.later.wait_for_queued(1));

  std::thread stopping([&] { server.server->stop(); });
  gate.set_value();

  CHECK(client.read().body.ends_with("due"));
  stopping.join();
  CHECK_FALSE(RawClient(server.address()).connected());
}
