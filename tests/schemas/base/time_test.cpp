#include "schemas/base/time.h"

#include <catch2/catch.hpp>

using namespace trainyard;

TEST_CASE("a wall time is written as RFC 3339 in UTC with milliseconds", "[base]") {
  CHECK(to_rfc3339({1'763'668'800'123}) == "2025-11-20T20:00:00.123Z");
  CHECK(to_rfc3339({-34'300'000'000'000}) == "0883-01-28T06:13:20.000Z");  // [mend-A10]
  CHECK(to_rfc3339({1}) == "1970-01-01T00:00:00.001Z");
  CHECK(to_rfc3339({951'782'400'000}) == "2000-02-29T00:00:00.000Z");
}

TEST_CASE("a time before 1970 keeps its milliseconds positive", "[base]") {
  CHECK(to_rfc3339({-1}) == "1969-12-31T23:59:59.999Z");
}

TEST_CASE("a time that is not set is written as nothing", "[base]") {
  CHECK(to_rfc3339(WallTime{}).empty());
  CHECK_FALSE(WallTime{}.is_set());
}

TEST_CASE("spans of time are added and compared as numbers", "[base]") {
  constexpr Time start{1000};
  CHECK((start + seconds(2)).millis == 3000);
  CHECK(start + seconds(2) - start == Millis{2000});
  CHECK(start - Millis{1} < start);
  CHECK(seconds(1) * 3 == Millis{3000});
  CHECK(WallTime{5} - WallTime{3} == Millis{2});
}
