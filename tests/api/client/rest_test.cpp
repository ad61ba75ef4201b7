// REST calls against a peer whose bytes the test writes, and the words that problem documents
// become.
#include "api/client/rest.h"

#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "tests/api/client/peer.h"
#include "tests/support/loopback.h"

namespace trainyard::client {
namespace {

Rest rest_of(const Peer& peer) { return Rest::connect(peer.url()).value(); }

}  // namespace

TEST_CASE("a server's address may be written with or without http and a slash", "[client]") {
  for (const char* text : {"localhost:8080", "http://localhost:8080", "http://localhost:8080//"}) {
    CHECK(Rest::connect(text).value().server() == "http://localhost:8080");
  }
}

TEST_CASE("an address that is no server's is refused by name", "[client]") {
  for (const char* text : {"ftp://host:1", "http://a b", "http://host:", "http://:80", "http://u@h",
                           "http://a\r\nb"}) {
    const Result<Rest> rest = Rest::connect(text);
    REQUIRE_FALSE(rest);
    CHECK(rest.error().code == Code::invalid);
    CHECK(rest.error().message.find("--server") == 0);
  }
}

TEST_CASE("a server that falls silent ends a call that must not stall", "[client]") {
  const Descriptor listener = listen_on_loopback();  // connects, and never says a word
  Rest rest = Rest::connect("127.0.0.1:" + std::to_string(port_of_socket(listener))).value();

  const auto answer = rest.send({.path = "/x", .timeout = {0}, .stall_limit = seconds(1)});

  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Code::unavailable);
  CHECK(answer.error().message.find("did not answer in time") != std::string::npos);
}

TEST_CASE("who is given the agents' endpoint says what is wanted", "[client][mend-B9]") {
  const Descriptor listener = listen_on_loopback();
  std::thread grpc([&listener] {  // begins with a frame of HTTP/2, as gRPC does
    const int caller = accept(listener.get(), nullptr, nullptr);
    const char settings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    static_cast<void>(!write(caller, settings, sizeof settings));
    close(caller);
  });
  Rest rest = Rest::connect("127.0.0.1:" + std::to_string(port_of_socket(listener))).value();

  const auto answer = rest.send({.path = "/v1/jobs"});

  grpc.join();
  REQUIRE_FALSE(answer);
  CHECK(answer.error().message.find("TRAINYARD_AGENT_SERVER") != std::string::npos);
  CHECK(answer.error().message.find("http://HOST:8080") != std::string::npos);
}

TEST_CASE("a server that is not there is unavailable and named, with what to do", "[client]") {
  std::string url;
  { url = Peer({}).url(); }  // its port was free a moment ago
  Rest rest = Rest::connect(url).value();

  const Result<nlohmann::json> answer = rest.get_json("/v1/jobs");

  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Code::unavailable);
  CHECK(answer.error().message.find("no server answers at " + url) != std::string::npos);
  CHECK(answer.error().message.find("trainyard local") != std::string::npos);
}

TEST_CASE("a post carries its body, its type and the headers given", "[client]") {
  Peer peer(
      {http_answer("201 Created", R"({"id":"j1"})", "Location: /v1/jobs/j1\r\nETag:  \"3\" \r\n")});
  Rest rest = rest_of(peer);

  const Result<Answer> answer = rest.send(
      {.method = "POST", .path = "/v1/jobs", .body = "{}", .headers = {{"Idempotency-Key", "k"}}});

  REQUIRE(answer);
  CHECK(answer->status == 201);
  CHECK(answer->header("etag") == "\"3\"");
  CHECK(answer->header("location") == "/v1/jobs/j1");
  CHECK(json_of(*answer).value()["id"] == "j1");
  const std::string request = peer.requests().at(0);
  CHECK(request.starts_with("POST /v1/jobs HTTP/1.1\r\n"));
  CHECK(request.find("Content-Type: application/json\r\n") != std::string::npos);
  CHECK(request.find("Idempotency-Key: k\r\n") != std::string::npos);
  CHECK(request.find("Expect:") == std::string::npos);
  CHECK(request.ends_with("\r\n\r\n{}"));
}

TEST_CASE("a header's value with a line's end in it is not sent", "[client]") {
  Peer peer({http_answer("200 OK", "{}")});
  Rest rest = rest_of(peer);

  const Result<Answer> refused =
      rest.send({.path = "/v1/jobs", .headers = {{"Idempotency-Key", "a\r\nX-Evil: 1"}}});

  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Code::invalid);
  CHECK(refused.error().message == "the header Idempotency-Key has a control character");
  CHECK(peer.requests().empty());
  REQUIRE(rest.get_json("/v1/jobs"));
}

TEST_CASE("a path of dots goes out as it is", "[client]") {
  Peer peer({http_answer("200 OK", "{}")});
  Rest rest = rest_of(peer);

  REQUIRE(rest.get_json("/v1/jobs/" + percent_encode("..")));

  CHECK(peer.requests().at(0).starts_with("GET /v1/jobs/.. HTTP/1.1\r\n"));
}

TEST_CASE("a post without a body says that its length is zero", "[client]") {
  Peer peer({http_answer("200 OK", "{}")});
  Rest rest = rest_of(peer);

  REQUIRE(rest.post_json("/v1/jobs/j1/cancel"));

  CHECK(peer.requests().at(0).find("Content-Length: 0\r\n") != std::string::npos);
}

TEST_CASE("every fault of a problem document is told with its pointer", "[client]") {
  const Answer answer{
      .status = 422,
      .headers = {},
      .body = R"({"title":"Unprocessable","detail":"the spec has 2 faults","errors":[
                        {"pointer":"/roles/ps","message":"must be 1 or more"},
                        {"pointer":"","message":"no model"}]})"};

  const Error error = problem_words(answer);

  CHECK(error.code == Code::invalid);
  CHECK(error.message == "the spec has 2 faults\n  /roles/ps: must be 1 or more\n  no model");
}

TEST_CASE("a fault that is the detail itself is said once", "[client]") {
  const auto words = [](const std::string& pointer) {
    return problem_words({.status = 400,
                          .headers = {},
                          .body = R"({"detail":"must be 1","errors":[{"pointer":")" + pointer +
                                  R"(","message":"must be 1"}]})"})
        .message;
  };
  CHECK(words("") == "must be 1");
  CHECK(words("/roles/ps") == "must be 1\n  /roles/ps: must be 1");
}

TEST_CASE("refusals keep their kind, and their words when they have any", "[client]") {
  CHECK(problem_words({.status = 404, .headers = {}, .body = R"({"title":"no job x"})"}) ==
        Error{Code::not_found, "no job x"});
  CHECK(problem_words({.status = 409, .headers = {}, .body = "<html>"}) ==
        Error{Code::conflict, "the server answered with status 409"});
  CHECK(problem_words({.status = 503, .headers = {{"retry-after", "1"}}, .body = ""}) ==
        Error{Code::unavailable, "the server answered with status 503\n  try again in 1 s"});
  CHECK(problem_words({.status = 500, .headers = {}, .body = "[]"}).code == Code::internal);
}

TEST_CASE("an answer that is not JSON is an error and no crash", "[client]") {
  CHECK_FALSE(json_of({.status = 200, .headers = {}, .body = "<html>hello</html>"}));
}

TEST_CASE("words from the server cannot move the terminal's cursor", "[client]") {
  const Answer answer{.status = 409, .headers = {}, .body = R"({"detail":"a\u001b[2Jb\u009bc"})"};
  CHECK(problem_words(answer).message == "a?[2Jb?c");
}

TEST_CASE("a stream hands over the bytes of a good answer and keeps those of a bad one",
          "[client]") {
  Peer peer(
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n4\r\n two\r\n0\r\n\r\n",
       http_answer("404 Not Found", R"({"detail":"no such job"})")});
  Rest rest = rest_of(peer);
  std::string seen;
  const Sink sink = [&seen](const Answer&, std::string_view bytes) -> Status {
    seen += bytes;
    return ok();
  };

  const Result<Answer> good = rest.stream({.path = "/good"}, sink);
  const Result<Answer> bad = rest.stream({.path = "/bad"}, sink);

  REQUIRE(good);
  CHECK(seen == "one two");
  REQUIRE(bad);
  CHECK(problem_words(*bad).message == "no such job");
}

TEST_CASE("an error of the sink ends the call with that error", "[client]") {
  Peer peer({http_answer("200 OK", "data")});
  Rest rest = rest_of(peer);

  const Result<Answer> answer =
      rest.stream({.path = "/"},
                  [](const Answer&, std::string_view) -> Status { return invalid("disk full"); });

  REQUIRE_FALSE(answer);
  CHECK(answer.error() == invalid("disk full"));
}

TEST_CASE("an answer that breaks off is unavailable", "[client]") {
  Peer peer({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"});
  Rest rest = rest_of(peer);

  const Result<nlohmann::json> answer = rest.get_json("/");

  REQUIRE_FALSE(answer);
  CHECK(answer.error().code == Code::unavailable);
}

TEST_CASE("all but unreserved characters are percent-encoded", "[client]") {
  CHECK(percent_encode("aZ9-._~") == "aZ9-._~");
  CHECK(percent_encode("a/b?c d") == "a%2Fb%3Fc%20d");
  CHECK(percent_encode("\xC3\xA9") == "%C3%A9");
}

}  // namespace trainyard::client
