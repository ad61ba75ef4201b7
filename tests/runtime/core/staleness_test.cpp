// Counts of staleness, against counting by hand.
#include "runtime/core/staleness.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {

TEST_CASE("each staleness falls into the range of its name", "[staleness]") {
  const auto range_of = [](std::int64_t staleness) {
    StalenessCounts counts;
    counts.add(staleness);
    for (std::size_t i = 0; i < staleness_ranges.size(); ++i) {
      if (counts.updates()[i] == 1) return staleness_ranges[i].name;
    }
    return std::string_view();
  };
  CHECK(range_of(0) == "0");
  CHECK(range_of(1) == "1");
  CHECK(range_of(2) == "2");
  CHECK(range_of(3) == "3");
  CHECK(range_of(4) == "4_to_7");
  CHECK(range_of(7) == "4_to_7");
  CHECK(range_of(8) == "8_to_15");
  CHECK(range_of(15) == "8_to_15");
  CHECK(range_of(16) == "16_to_31");
  CHECK(range_of(31) == "16_to_31");
  CHECK(range_of(32) == "32_to_63");
  CHECK(range_of(63) == "32_to_63");
  CHECK(range_of(64) == "64_and_more");
  CHECK(range_of(std::int64_t{1} << 60) == "64_and_more");
}

TEST_CASE("counts of several add up, and keep the largest", "[staleness]") {
  StalenessCounts one;
  for (const std::int64_t staleness : {0, 0, 5}) one.add(staleness);
  StalenessCounts other;
  for (const std::int64_t staleness : {0, 1, 6, 70}) other.add(staleness);
  one += other;
  CHECK(one.updates() == StalenessCounts::Updates{3, 1, 0, 0, 2, 0, 0, 0, 1});
  CHECK(one.total() == 7);
  CHECK(one.largest() == 70);
}

TEST_CASE("quantiles are exact up to 3, and the end of their range beyond", "[staleness]") {
  StalenessCounts counts;
  CHECK(counts.quantile(0.5) == 0);
  for (const std::int64_t staleness : {0, 1, 1, 2, 3, 3, 3, 9, 10, 11}) counts.add(staleness);
  CHECK(counts.quantile(0.1) == 0);
  CHECK(counts.quantile(0.3) == 1);
  CHECK(counts.quantile(0.5) == 3);
  CHECK(counts.quantile(0.7) == 3);
  CHECK(counts.quantile(0.8) == 11);  // of 8 to 15, but none was beyond 11
  counts.add(100);
  CHECK(counts.quantile(0.9) == 15);
  CHECK(counts.quantile(1) == 100);
}

TEST_CASE("counts come back from another process, and nothing below 0 with them", "[staleness]") {
  StalenessCounts counts;
  for (const std::int64_t staleness : {2, 40}) counts.add(staleness);
  CHECK(StalenessCounts(counts.updates(), counts.largest()) == counts);
  CHECK(StalenessCounts({-1, 2}, -5) == StalenessCounts({0, 2}, 0));
}

TEST_CASE("inverse scaling divides by one more than the staleness", "[staleness]") {
  CHECK(staleness_factor(StalenessScaling::inverse, 0) == 1);
  CHECK(staleness_factor(StalenessScaling::inverse, 1) == 0.5);
  CHECK(staleness_factor(StalenessScaling::inverse, 3) == 0.25);
  CHECK(staleness_factor(StalenessScaling::inverse, 9) == 0.1);
  CHECK(staleness_factor(StalenessScaling::none, 9) == 1);
}

}  // namespace trainyard::runtime
