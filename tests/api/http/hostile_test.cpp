// Bytes that mean harm: whatever comes, the server stays healthy, answers what it can with a
// problem document, and never reads a second request out of the first one's body.
#include <catch2/catch.hpp>
#include <random>
#include <string>

#include "tests/api/http/raw_client.h"
#include "tests/api/http/test_server.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::api;

namespace {

constexpr const char* smuggled = "GET /now/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";

// Sends it all, and everything the server says until it closes.
std::string all_answers(const std::string& address, const std::string& bytes) {
  RawClient client(address);
  client.send(bytes);
  client.close_sending();
  return client.read_until("no such text: reads to the end");
}

}  // namespace

TEST_CASE("a request hidden in another's body is never answered", "[http][hostile]") {
  TestServer server;
  const std::string start = "POST /echo/a/b HTTP/1.1\r\nHost: localhost\r\n";

  for (const std::string& header :
       {std::string("Content-Length: 5000000\r\n"), std::string("Content-Length: abc\r\n"),
        std::string("Content-Length: 0\r\nContent-Length: 40\r\n"),
        std::string("Transfer-Encoding: chunked\r\n"),
        std::string("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n")}) {
    INFO(header);
    const std::string answers = all_answers(server.address(), start + header + "\r\n" + smuggled);
    CHECK(answers.starts_with("HTTP/1.1 4"));
    CHECK(answers.find("application/problem+json") != std::string::npos);
    CHECK(answers.find("Connection: close") != std::string::npos);
    CHECK(answers.find("HTTP/1.1", 8) == std::string::npos);
  }
}

TEST_CASE("a body of 100 MB is refused with 413 and costs no memory", "[http][hostile]") {
  TestServer server;
  RawClient client(server.address());
  const long kilobytes = resident_kilobytes();
  const std::string piece(1 << 20, 'x');

  client.send("POST /echo/a/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\n\r\n");
  for (int megabyte = 0; megabyte < 100; ++megabyte) {
    if (!client.send(piece)) break;
  }

  CHECK(client.read().status == 413);
  CHECK(resident_kilobytes() - kilobytes < 20 * 1024);
  CHECK(RawClient(server.address()).call("GET /now/well").body == "well");
}

TEST_CASE("a thousand broken requests leave the server healthy", "[http][hostile]") {
  TestServer server;
  const long descriptors = open_descriptors();
  const std::string model =
      "POST /echo/a/b?x=1 HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\nContent-Length: "
      "5\r\n\r\nhello";
  std::mt19937 dice(20'261'120);

  for (int round = 0; round < 1000; ++round) {
    std::string text = model.substr(0, dice() % 4 == 0 ? dice() % model.size() : model.size());
    for (auto change = dice() % 4; change > 0 && !text.empty(); --change) {
      text[dice() % text.size()] = static_cast<char>(dice());
    }
    const std::string answers = all_answers(server.address(), text);
    INFO(text);
    REQUIRE((answers.empty() || answers.starts_with("HTTP/1.1 ")));
    if (answers.starts_with("HTTP/1.1 4") || answers.starts_with("HTTP/1.1 5")) {
      REQUIRE(answers.find("application/problem+json") != std::string::npos);
    }
  }

  CHECK(RawClient(server.address()).call("GET /now/well").body == "well");
  CHECK(descriptors_return_to(descriptors));
}

TEST_CASE("a pipe where a file should be is not there, and holds no thread", "[http][hostile]") {
  TestServer server;
  RawClient client(server.address());
  CHECK(client.call("GET /pipe").status == 404);
  CHECK(client.call("GET /link").status == 404);  // nor what a link leads to
  CHECK(client.call("GET /now/well").body == "well");
}

TEST_CASE("beyond the limit of connections the one that is quiet for longest makes room",
          "[http][hostile][mend-A6]") {
  // By one thread: two would tell of what is quiet in any order.
  TestServer server({.threads = 1, .connections_max = 2});
  RawClient first(server.address());
  RawClient second(server.address());
  CHECK(first.call("GET /now/1").body == "1");
  CHECK(second.call("GET /now/2").body == "2");
  CHECK(first.call("GET /now/3").body == "3");

  RawClient third(server.address());

  CHECK(second.ended());
  CHECK(third.call("GET /huge/x").body.size() > huge_bytes);  // an ordinary place
  CHECK(first.call("GET /now/4").body == "4");
}

TEST_CASE("where all connections are busy, short answers are given and long ones are refused",
          "[http][hostile][mend-A6]") {
  TestServer server({.connections_max = 2});
  RawClient first(server.address());
  RawClient second(server.address());
  first.request("GET /stream");
  second.request("GET /stream");
  REQUIRE(server.wait_for_streams(2));

  for (int again = 0; again < 10; ++again) {
    RawClient shortly(server.address());
    CHECK(shortly.call("GET /now/well").body == "well");
    CHECK(shortly.ended());  // the place is left with the answer
  }
  CHECK(RawClient(server.address()).call("GET /huge/x").status == 503);
  CHECK(RawClient(server.address()).call("GET /listed").status == 503);

  for (const auto& stream : server.streams()) stream->finish();
  server.forget_streams();
  first.hang_up(RawClient::HangUp::politely);
  second.hang_up(RawClient::HangUp::politely);
  RawClient later(server.address());
  CHECK(eventually([&] { return RawClient(server.address()).call("GET /listed").status == 200; }));
}

TEST_CASE("bodies that are announced and not sent are bounded for all clients together",
          "[http][hostile][mend-A6]") {
  TestServer server({.bodies_bytes_max = 1'000'000});
  const std::string head =
      "POST /echo/a/b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 600000\r\n";
  RawClient first(server.address());
  first.send(head + "Expect: 100-continue\r\n\r\n");
  CHECK(first.read_to_head().status == 100);
  RawClient second(server.address());
  second.send(head + "\r\n");

  const RawResponse refused = second.read();
  CHECK(refused.status == 503);
  CHECK(refused.headers.at("retry-after") == "1");
  CHECK(first.send(std::string(600'000, 'x')));
  CHECK(first.read().status == 200);
  CHECK(RawClient(server.address()).call("POST /echo/a/b", "", std::string(600'000, 'x')).status ==
        200);
}
