// What a worker has asked its ps for, while the answers come.
#include "runtime/net/chunks/link_requests.h"

#include <catch2/catch.hpp>

#include "runtime/net/chunks/control_payload.h"

namespace trainyard::runtime {
namespace {

// A chunk of each.
WorkerArenas::Rules two_ps() {
  return {.chunks = {{.range = {0, 1024}, .holder = 0}, {.range = {1024, 2048}, .holder = 1}},
          .holders = 2};
}

// Of a ps' only chunk, for snapshot 3.
const FrameHeader weights{
    .kind = FrameKind::weights, .chunk = 0, .bytes = 1024 * sizeof(float), .snapshot = 3};

}  // namespace

TEST_CASE("shards that come of two ps at once come into two places") {
  const WorkerArenas arenas(two_ps());
  LinkRequests requests(arenas, 2);
  requests.ask_shards({.step = 7, .keep_steps = {}});
  const auto header = [](std::uint32_t bytes) {
    return FrameHeader{.kind = FrameKind::shard, .bytes = bytes, .snapshot = 7};
  };
  const auto first = requests.place(0, header(100));
  REQUIRE(first.has_value());
  std::ranges::fill(*first, std::byte{1});
  const auto second = requests.place(1, header(50'000));
  REQUIRE(second.has_value());
  std::ranges::fill(*second, std::byte{2});
  CHECK(std::ranges::count(*first, std::byte{1}) == 100);
}

TEST_CASE("weights that come after another ps has refused its own touch nothing") {
  const WorkerArenas arenas(two_ps());
  LinkRequests requests(arenas, 2);
  requests.ask_weights(3);
  const auto place = requests.place(1, weights);
  REQUIRE(place.has_value());
  const PayloadBytes why = encode_error(conflict("it is gone"));
  const FrameHeader refusal{.kind = FrameKind::weights, .flag = true, .snapshot = 3};
  REQUIRE(requests.take(0, refusal, std::as_bytes(std::span(why))).has_value());
  REQUIRE(requests.has_weights());
  CHECK_FALSE(requests.take_weights().has_value());
  std::ranges::fill(*place, std::byte{1});  // the rest of them comes
  CHECK(requests.take(1, weights, *place).has_value());
  CHECK(requests.place(1, weights).has_value());
}

TEST_CASE("nobody is released who does not leave") {
  const WorkerArenas arenas({.chunks = {{.range = {0, 1024}, .holder = 0}}});
  LinkRequests requests(arenas, 1);
  CHECK_FALSE(requests.take(0, {.kind = FrameKind::released}, {}).has_value());
  CHECK_FALSE(requests.is_released());
  requests.leave(Leaving::worker);
  CHECK(requests.take(0, {.kind = FrameKind::released}, {}).has_value());
  CHECK(requests.is_released());
}

TEST_CASE("weights of all ps are the arena's, each in its place") {
  const WorkerArenas arenas(two_ps());
  LinkRequests requests(arenas, 2);
  requests.ask_weights(3);
  for (const std::size_t ps : {1, 0}) {
    const auto place = requests.place(ps, weights);
    REQUIRE(place.has_value());
    std::ranges::fill(*place, static_cast<std::byte>(ps + 1));
    CHECK_FALSE(requests.has_weights());
    REQUIRE(requests.take(ps, weights, *place).has_value());
  }
  REQUIRE(requests.has_weights());
  const auto all = requests.take_weights();
  REQUIRE(all.has_value());
  const auto bytes = std::as_bytes(all->span());
  CHECK(std::ranges::count(bytes.first(4096), std::byte{1}) == 4096);
  CHECK(std::ranges::count(bytes.subspan(4096), std::byte{2}) == 4096);
}

}  // namespace trainyard::runtime
