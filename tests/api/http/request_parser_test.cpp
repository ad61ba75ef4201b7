// The strict parser: what it takes, what it refuses and how, whatever pieces the bytes come in.
#include "api/http/request_parser.h"

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace trainyard::api;

namespace {

using State = RequestParser::State;

int status_of(const std::string& text) {
  RequestParser parser({});
  return parser.feed(text) == State::refused ? parser.problem().status : 0;
}

std::string with_header(const std::string& header) {
  return "POST /v1/jobs HTTP/1.1\r\nHost: x\r\n" + header + "\r\n\r\n";
}

}  // namespace

TEST_CASE("a request is the same in one piece and byte by byte", "[http]") {
  const std::string text =
      "POST /v1/jobs?dry_run=true HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 5\r\n"
      "Accept: text/csv\r\nACCEPT: text/plain \r\n\r\nhello";
  RequestParser parser({});

  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    REQUIRE(parser.feed(text.substr(at, 1)) == State::need_more);
  }
  REQUIRE(parser.feed("o") == State::complete);
  const Request request = parser.take();

  CHECK(request.method == Method::post);
  CHECK(request.path == "/v1/jobs");
  CHECK(request.query == std::vector<std::pair<std::string, std::string>>{{"dry_run", "true"}});
  CHECK(request.header("accept") == "text/csv, text/plain");
  CHECK(request.body == "hello");
  RequestParser whole({});
  CHECK(whole.feed(text) == State::complete);
  CHECK(whole.take().body == "hello");
}

TEST_CASE("bytes after a request are counted, not mixed into the next", "[http]") {
  RequestParser parser({});

  CHECK(parser.feed(with_header("Content-Length: 2") + "hiGET / HTTP/1.1\r\n") == State::complete);

  CHECK(parser.surplus_bytes() == 16);
  CHECK(parser.take().body == "hi");
  CHECK(parser.feed(with_header("Content-Length: 3") + "two") == State::complete);
  CHECK(parser.surplus_bytes() == 0);
  CHECK(parser.take().body == "two");
}

TEST_CASE("what could be read in two ways is refused", "[http]") {
  CHECK(status_of(with_header("Content-Length: 1\r\nContent-Length: 1")) == 400);
  CHECK(status_of(with_header("Content-Length: abc")) == 400);
  CHECK(status_of(with_header("Content-Length: -1")) == 400);
  CHECK(status_of(with_header("Content-Length: +1")) == 400);
  CHECK(status_of(with_header("Content-Length: 1, 1")) == 400);
  CHECK(status_of(with_header("Content-Length:")) == 400);
  CHECK(status_of(with_header("Content-Length: 99999999999999999999")) == 400);
  CHECK(status_of(with_header("Content-Length: 5\r\nTransfer-Encoding: chunked")) == 400);
  CHECK(status_of(with_header("Transfer-Encoding: chunked")) == 411);
  CHECK(status_of(with_header("Content-Length : 5")) == 400);
  CHECK(status_of(with_header(" folded: 5")) == 400);
  CHECK(status_of(with_header("no colon")) == 400);
  CHECK(status_of(with_header("A: b\nC: d")) == 400);
  CHECK(status_of(with_header("A: b\rC: d")) == 400);
  CHECK(status_of(with_header(std::string("A: \0", 4))) == 400);
  CHECK(status_of(with_header("Host: y")) == 400);
}

TEST_CASE("a body in another encoding is refused by its name", "[http]") {
  CHECK(status_of(with_header("Content-Length: 5\r\nContent-Encoding: gzip")) == 415);
  CHECK(status_of(with_header("Content-Length: 5\r\nContent-Encoding: identity, br")) == 415);
  CHECK(status_of(with_header("Content-Length: 5\r\nContent-Encoding: Identity")) == 0);
  CHECK(status_of(with_header("Content-Encoding: gzip")) == 0);  // of no body
}

TEST_CASE("first lines that are none are refused", "[http]") {
  for (const char* line :
       {"GET", "GET /", "GET / HTTP/2.0", "GET / HTTP/1.1x", "GET  / HTTP/1.1", " GET / HTTP/1.1",
        "GET x HTTP/1.1", "GET http://x/ HTTP/1.1", "GET /a#b HTTP/1.1", "GET /\x80 HTTP/1.1",
        "GET /\x7f HTTP/1.1", "GET /?a=%zz HTTP/1.1", "GET /?a=%ff HTTP/1.1",
        "GET /?a=%00 HTTP/1.1", "G(T / HTTP/1.1"}) {
    INFO(line);
    CHECK(status_of(std::string(line) + "\r\nHost: x\r\n\r\n") == 400);
  }
  CHECK(status_of("BREW / HTTP/1.1\r\nHost: x\r\n\r\n") == 501);
  CHECK(status_of("GET / HTTP/1.1\r\n\r\n") == 400);  // no Host
  CHECK(status_of("GET / HTTP/1.1\nHost: x\n\n") == 400);
  CHECK(status_of("\x16\x03\x01") == 400);  // TLS spoken to a plain port
}

TEST_CASE("sizes have limits of their own", "[http]") {
  CHECK(status_of("GET /" + std::string(9'000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n") == 414);
  CHECK(status_of(with_header("A: " + std::string(40'000, 'a'))) == 431);
  CHECK(status_of(std::string(40'000, 'a')) == 431);
  CHECK(status_of(with_header("Content-Length: 1048577")) == 413);
}

TEST_CASE("a head of just the largest size is taken, however it is cut", "[http]") {
  constexpr std::size_t head_bytes = 200;
  const RequestLimits limits{.head_bytes = head_bytes, .target_bytes = 100, .body_bytes = 100};
  for (const std::size_t more : {0, 1}) {
    std::string text = "GET / HTTP/1.1\r\nHost: x\r\nPadding: ";
    text.append(head_bytes + more - text.size(), 'x').append("\r\n\r\n");
    const State wanted = more == 0 ? State::complete : State::refused;
    RequestParser whole(limits);
    CHECK(whole.feed(text) == wanted);
    RequestParser slow(limits);
    State state = State::need_more;
    for (std::size_t at = 0; at < text.size() && state == State::need_more; ++at) {
      state = slow.feed(text.substr(at, 1));
    }
    CHECK(state == wanted);
    if (more == 1) CHECK(slow.problem().status == 431);
  }
}

TEST_CASE("a client that waits to be told is told once", "[http]") {
  RequestParser parser({});

  CHECK(parser.feed(with_header("Content-Length: 2\r\nExpect: 100-continue")) ==
        State::wants_continue);
  CHECK(parser.feed("h") == State::need_more);
  CHECK(parser.feed("i") == State::complete);
}
