// Clients that read slowly or not at all: what is kept for them is bounded, and one that goes on
// reading gets its whole answer.
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "tests/api/http/raw_client.h"
#include "tests/api/http/test_server.h"
#include "tests/environment.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::api;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST_CASE("what waits for slow readers is bounded for all together, and the room comes back",
          "[http][mend-A6]") {
  TestServer server({.unsent_bytes_max = 60 << 20});
  const long before = resident_kilobytes();
  std::vector<std::unique_ptr<RawClient>> slow;
  RawClient quick(server.address());

  const int clients = is_sanitized ? 8 : 30;  // each costs a sanitizer seconds
  for (int count = 0; count < clients; ++count) {
    slow.push_back(std::make_unique<RawClient>(server.address()));
    slow.back()->request("GET /huge/x");
    const int status = slow.back()->read_to_head().status;
    REQUIRE((status == 200 || status == 503));
    REQUIRE(quick.call("GET /now/well").body == "well");
  }

  const RawResponse refused = RawClient(server.address()).call("GET /huge/x");
  CHECK(refused.status == 503);
  CHECK(refused.headers.at("retry-after") == "1");
  CHECK(quick.call("GET /now/well").body == "well");
  if (!is_sanitized) CHECK(resident_kilobytes() - before < 200 * 1024);  // not 30 times 24 MiB

  slow.clear();  // they hang up
  CHECK(eventually([&] { return RawClient(server.address()).call("GET /huge/x").status == 200; }));
}

TEST_CASE("an answer larger than one may be is refused whole", "[http][mend-A6]") {
  TestServer server({.answer_bytes_max = 100'000});
  RawClient client(server.address());

  CHECK(client.call("GET /huge/x").status == 503);
  CHECK(client.call("GET /large/x").status == 503);
  CHECK(client.call("GET /file").body.size() == 10'000);
  CHECK(client.call("GET /now/well").body == "well");
}

TEST_CASE("a slow reader that goes on reading gets its whole answer", "[http][mend-A6]") {
  constexpr milliseconds stall_limit{1000};
  TestServer server({.stall_limit = stall_limit});
  RawClient slow(server.address());
  RawClient quick(server.address());
  slow.request("GET /huge/x");

  // Several times the limit by bits that are far too small to make a socket writable again: only
  // what the client's system acknowledges shows that it reads.
  std::size_t taken = 0;
  const auto slow_until = steady_clock::now() + 4 * stall_limit;
  for (auto next = steady_clock::now(); next < slow_until; next += milliseconds(20)) {
    while (steady_clock::now() < next) REQUIRE(quick.call("GET /now/well").body == "well");
    taken += slow.drop_bytes(4 << 10);
  }
  CHECK(taken < huge_bytes / 4);
  while (const std::size_t bytes = slow.drop_bytes(64 << 10)) {
    taken += bytes;
    if (taken > huge_bytes) break;
  }

  CHECK(taken > huge_bytes);
}
