#include "runtime/net/row_lookups.h"

#include <catch2/catch.hpp>
#include <limits>

namespace trainyard::runtime {
namespace {

using Ids = std::vector<std::int64_t>;
using Parts = std::vector<LookedUp>;
using Counts = std::vector<std::int64_t>;

// Whether it was kept; false for what is refused too.
bool keeps(RowLookups& lookups, std::int64_t number, Ids ids) {
  const auto kept = lookups.keep(0, number, {.ids = std::move(ids)});
  return kept.has_value() && *kept;
}

}  // namespace

TEST_CASE("a part has the ids of all its lookups, each once", "[rows]") {
  RowLookups lookups(1, 100);
  CHECK(keeps(lookups, 5, {1, 4, 9}));
  CHECK(keeps(lookups, 6, {2, 4}));
  CHECK(keeps(lookups, 7, {3}));

  const auto parts = lookups.take(0, 5, Counts{2, 0, 1});

  REQUIRE(parts.has_value());
  CHECK(*parts == Parts{{{1, 2, 4, 9}}, {}, {{3}}});
  CHECK(lookups.take(0, 5, Counts{1}).error().code == Code::not_found);
}

TEST_CASE("lookups that are named are forgotten with all older ones, and no younger", "[rows]") {
  RowLookups lookups(2, 100);
  for (std::int64_t number = 1; number <= 4; ++number) CHECK(keeps(lookups, number, {number}));
  REQUIRE(lookups.keep(1, 1, {.ids = {70}}).has_value());

  REQUIRE(lookups.take(0, 2, Counts{2}).has_value());

  CHECK(lookups.take(0, 1, Counts{1}).error().code == Code::not_found);
  CHECK(*lookups.take(0, 4, Counts{1}) == Parts{{{4}}});
  CHECK(*lookups.take(1, 1, Counts{1}) == Parts{{{70}}});  // another rank's
}

TEST_CASE("where one lookup is not there, none is taken", "[rows]") {
  RowLookups lookups(1, 100);
  CHECK(keeps(lookups, 1, {1}));
  CHECK(keeps(lookups, 3, {3}));
  CHECK(lookups.take(0, 1, Counts{2}).error().code == Code::not_found);
  CHECK(lookups.take(0, 1, Counts{1, 1}).error().code == Code::not_found);
  CHECK(lookups.take(0, 1, Counts{std::numeric_limits<std::int64_t>::max()}).error().code ==
        Code::not_found);
  CHECK(lookups.take(0, 1, Counts{-1}).error().code == Code::invalid);
  CHECK(*lookups.take(0, 1, Counts{1}) == Parts{{{1}}});
}

TEST_CASE("the oldest lookups of a rank make room, and what has no room is not kept", "[rows]") {
  RowLookups lookups(1, 4);
  CHECK(keeps(lookups, 1, {1, 2}));
  CHECK(keeps(lookups, 2, {1, 2}));
  CHECK(keeps(lookups, 3, {5}));
  CHECK_FALSE(keeps(lookups, 4, {1, 2, 3, 4, 5}));
  CHECK_FALSE(keeps(lookups, 5, {}));
  CHECK(lookups.take(0, 1, Counts{1}).error().code == Code::not_found);
  CHECK(*lookups.take(0, 2, Counts{1, 1}) == Parts{{{1, 2}}, {{5}}});
}

TEST_CASE("a lookup of an earlier process of the rank is not kept", "[rows]") {
  RowLookups lookups(1, 10);
  CHECK(keeps(lookups, 1000, {1}));
  CHECK_FALSE(keeps(lookups, 999, {2}));
  CHECK_FALSE(keeps(lookups, 1000, {3}));
  CHECK(*lookups.take(0, 1000, Counts{1}) == Parts{{{1}}});
}

TEST_CASE("bags are kept as they are, and come one lookup to a part", "[rows]") {
  const LookedUp bags{.ids = {3, 8},
                      .bags = {.offsets = {0, 1, 3}, .columns = {1, 0, 1}, .values = {1, 2, 3}}};
  RowLookups lookups(1, 16);  // a lookup's ids, elements and offsets are 8
  CHECK(bags.vectors() == 2);
  for (std::int64_t number = 1; number <= 3; ++number) {
    CHECK(*lookups.keep(0, number, bags));
  }
  CHECK(lookups.take(0, 1, Counts{1}).error().code == Code::not_found);  // it made room
  CHECK(lookups.take(0, 2, Counts{2}).error().code == Code::invalid);
  CHECK(*lookups.take(0, 2, Counts{1, 1}) == Parts{bags, bags});
}

TEST_CASE("lookups that cannot be are refused", "[rows]") {
  RowLookups lookups(2, 10);
  const auto refused = [&lookups](std::int64_t rank, std::int64_t number, Ids ids) {
    const auto kept = lookups.keep(rank, number, {.ids = std::move(ids)});
    return !kept.has_value() && kept.error().code == Code::invalid;
  };
  CHECK(refused(-1, 1, {1}));
  CHECK(refused(2, 1, {1}));
  CHECK(refused(0, 1, {2, 1}));
  CHECK(refused(0, 1, {2, 2}));
  CHECK(refused(0, -1, {1}));
  CHECK(refused(0, std::numeric_limits<std::int64_t>::max(), {1}));
  CHECK(lookups.take(2, 1, Counts{0}).error().code == Code::invalid);
  CHECK(lookups.take(-1, 1, Counts{0}).error().code == Code::invalid);
}

}  // namespace trainyard::runtime
