// What a worker has asked its ps for, while the answers come.
#include "runtime/net/chunks/link_requests.h"

#include <catch2/catch.hpp>

#include "runtime/net/chunks/control_payload.h"

namespace trainyard::runtime {

TEST_CASE("shards that come of two ps at once come into two places") {
  const WorkerArenas arenas(
      {.chunks = {{.range = {0, 1024}, .holder = 0}, {.range = {1024, 2048}, .holder = 1}},
       .holders = 2});
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

}  // namespace trainyard::runtime
