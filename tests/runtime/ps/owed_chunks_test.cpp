#include "runtime/ps/owed_chunks.h"

#include <catch2/catch.hpp>
#include <vector>

namespace trainyard::runtime {
namespace {

std::vector<std::int64_t> taken(OwedChunks& owed, std::int64_t rank) {
  std::vector<std::int64_t> chunks;
  while (const auto next = owed.take_next(rank)) chunks.push_back(next->chunk);
  return chunks;
}

}  // namespace

TEST_CASE("what is owed is sent when it is made, the first of the arena first", "[ps]") {
  OwedChunks owed(2, 3);
  for (const std::int64_t chunk : {2, 1, 0}) owed.owe(1, chunk, 5, 4);
  owed.made(2, 5);
  owed.made(0, 4);
  CHECK(taken(owed, 1) == std::vector<std::int64_t>{2});
  owed.made(1, 6);
  owed.made(0, 5);
  CHECK(taken(owed, 1) == std::vector<std::int64_t>{0, 1});
  CHECK(taken(owed, 1).empty());
  CHECK(taken(owed, 0).empty());
}

TEST_CASE("what is made already is sent at once, and the version that was asked for told", "[ps]") {
  OwedChunks owed(1, 2);
  owed.owe(0, 1, 3, 4);
  const auto next = owed.take_next(0);
  REQUIRE(next);
  CHECK(next->chunk == 1);
  CHECK(next->version == 3);
}

TEST_CASE("who leaves is owed nothing", "[ps]") {
  OwedChunks owed(2, 2);
  owed.owe(0, 0, 4, 4);
  owed.owe(0, 1, 5, 4);
  owed.owe(1, 1, 5, 4);
  owed.forget(0);
  owed.made(1, 5);
  CHECK(taken(owed, 0).empty());
  CHECK(taken(owed, 1) == std::vector<std::int64_t>{1});
}

}  // namespace trainyard::runtime
