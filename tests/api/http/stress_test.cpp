// The misdelivery test. Pistache alone gives answers to the wrong client when clients hang up early
// (upstream has no fix); here half of the clients do, at random moments, and every answer that is
// read must carry its caller's tag.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "tests/api/http/raw_client.h"
#include "tests/api/http/test_server.h"
#include "tests/environment.h"

using namespace trainyard;
using namespace trainyard::api;

namespace {

constexpr int client_count = 32;

// STRESS_REQUESTS says how many; fewer by default where a sanitizer makes each cost ten times as
// much.
long requests_wanted() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr long otherwise = 20'000;
#else
  constexpr long otherwise = 200'000;
#endif
  return static_cast<long>(number_from_environment("STRESS_REQUESTS", otherwise));
}

struct Tally {
  std::atomic<long> right{0};
  std::atomic<long> wrong{0};
  std::atomic<long> hung_up{0};
  std::atomic<long> lost{0};  // no answer although the client waited for it
};

struct Visitor {
  std::string address;
  int number = 0;
  long requests = 0;

  void run(Tally& tally) const {
    std::mt19937 dice(static_cast<unsigned>(number));
    RawClient client(address);
    for (long at = 0; at < requests; ++at) {
      const std::string tag = std::to_string(number) + "-" + std::to_string(at);
      const std::string path = dice() % 4 == 0 ? "GET /now/" : "GET /later/";
      const bool hangs_up = dice() % 2 == 0;
      if (!client.request(path + tag)) ++tally.lost;
      if (hangs_up) {
        if (dice() % 3 == 0) client.read_until("HTTP");  // in the middle of the answer
        client.hang_up(dice() % 2 == 0 ? RawClient::HangUp::politely
                                       : RawClient::HangUp::with_reset);
        ++tally.hung_up;
        client = RawClient(address);
        continue;
      }
      const RawResponse response = client.read();
      if (response.status == 0) {
        ++tally.lost;
        client = RawClient(address);
      } else {
        ++(response.body == tag ? tally.right : tally.wrong);
      }
    }
  }
};

}  // namespace

TEST_CASE("no answer reaches another client, however many hang up", "[http][stress]") {
  TestServer server;
  const long before = open_descriptors();
  Tally tally;

  std::vector<std::thread> threads;
  for (int number = 0; number < client_count; ++number) {
    const Visitor visitor{.address = server.address(),
                          .number = number,
                          .requests = requests_wanted() / client_count};
    threads.emplace_back([visitor, &tally] { visitor.run(tally); });
  }
  for (std::thread& thread : threads) thread.join();

  CAPTURE(tally.right, tally.hung_up);
  CHECK(tally.wrong == 0);
  CHECK(tally.lost == 0);
  CHECK(tally.right > 0);
  CHECK(tally.right + tally.hung_up == requests_wanted() / client_count * client_count);
  CHECK(descriptors_return_to(before));
}

TEST_CASE("a thousand idle event streams cost less than 30 MB", "[http][stress]") {
  constexpr std::size_t count = 1000;
  TestServer server({.heartbeat_every = std::chrono::milliseconds(200)});
  const long descriptors = open_descriptors();
  const long kilobytes = resident_kilobytes();
  {
    std::vector<RawClient> clients;
    for (std::size_t at = 0; at < count; ++at) {
      clients.emplace_back(server.address());
      REQUIRE(clients.back().request("GET /stream", "Accept: text/event-stream\r\n"));
    }
    REQUIRE(server.wait_for_streams(count));
    const long grown = resident_kilobytes() - kilobytes;
    for (const auto& stream : server.streams()) REQUIRE(stream->write("data: all\n\n"));
    for (RawClient& client : clients) {
      REQUIRE(client.read_until("data: all\n\n").find("data: all\n\n") != std::string::npos);
      REQUIRE(client.read_until(":\n\n").find(":\n\n") != std::string::npos);  // a heartbeat
    }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    CHECK(grown < 30 * 1024);
#endif
    CAPTURE(grown);
    SUCCEED();
  }

  CHECK(server.wait_for_gone(count));
  server.forget_streams();
  CHECK(descriptors_return_to(descriptors));
}
