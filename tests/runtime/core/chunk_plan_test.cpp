// How the arena is shared out over the ps.
#include "runtime/core/chunk_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace trainyard::runtime {
namespace {

std::vector<Range> all_ranges(const std::vector<Share>& shares) {
  std::vector<Range> ranges;
  for (const Share& share : shares) {
    ranges.insert(ranges.end(), share.ranges.begin(), share.ranges.end());
  }
  std::ranges::sort(ranges, std::ranges::less{}, &Range::begin);
  return ranges;
}

bool covers_once(const std::vector<Share>& shares, std::int64_t elements) {
  std::int64_t at = 0;
  for (const Range& range : all_ranges(shares)) {
    if (range.begin != at || range.end <= range.begin) return false;
    at = range.end;
  }
  return at == elements;
}

}  // namespace

TEST_CASE("shares cover the arena exactly once, whatever its size", "[chunk_plan]") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; ++i) {
    const auto elements =
        static_cast<std::int64_t>(random() % (std::uint64_t{1} << (random() % 28)));
    const auto ps = static_cast<std::int64_t>(1 + random() % 12);
    INFO("elements " << elements << " ps " << ps);
    const auto shares = plan_shares(elements, ps);
    CHECK(std::ssize(shares) == ps);
    CHECK(covers_once(shares, elements));
    for (const Share& share : shares)
      CHECK(std::ranges::is_sorted(share.ranges, {}, &Range::begin));
  }
}

TEST_CASE("one ps holds the whole arena as one range", "[chunk_plan]") {
  const auto shares = plan_shares(5'000'000, 1);
  CHECK(shares.front().ranges == std::vector<Range>{{0, 5'000'000}});
}

TEST_CASE("models of 16 MiB and more are balanced to within 2 percent", "[chunk_plan]") {
  for (const std::int64_t ps : {2, 3, 4, 8, 16}) {
    const std::int64_t elements = (std::int64_t{16} << 20) / 4 + 12345;
    const auto shares = plan_shares(elements * ps, ps);
    const auto largest = std::ranges::max_element(shares, {}, &Share::elements)->elements();
    CHECK(static_cast<double>(largest) * static_cast<double>(ps) <=
          1.02 * static_cast<double>(elements * ps));
  }
}

TEST_CASE("consecutive chunks lie on different ps, so that a layer uses all links",
          "[chunk_plan]") {
  const auto shares = plan_shares(10'000'000, 4);
  for (const Share& share : shares) {
    for (const Range& range : share.ranges) CHECK(range.size() <= chunk_elements(10'000'000, 4));
  }
}

TEST_CASE("chunks are at most 1 MiB and whole cache lines", "[chunk_plan]") {
  CHECK(chunk_elements(100, 1) == 112);
  CHECK(chunk_elements(1'000'000'000, 2) <= 256 * 1024);
  CHECK(chunk_elements(1'000'000'000, 2) > 255 * 1024);
  for (const std::int64_t elements : {1, 79'510, 5'827'594, 123'456'789}) {
    CHECK(chunk_elements(elements, 3) % 16 == 0);
  }
}

TEST_CASE("a model of a few chunks is balanced too", "[chunk_plan]") {
  const auto shares = plan_shares(79'520, 2);
  CHECK(std::abs(shares[0].elements() - shares[1].elements()) <= 6 * 16);
}

TEST_CASE("with fewer elements than chunks some ps hold nothing", "[chunk_plan]") {
  const auto shares = plan_shares(13, 3);
  CHECK(shares[0].elements() == 13);
  CHECK(shares[1].elements() == 0);
  CHECK(shares[2].ranges.empty());
}

TEST_CASE("an empty arena has empty shares", "[chunk_plan]") {
  CHECK(plan_shares(0, 2) == std::vector<Share>(2));
}

}  // namespace trainyard::runtime
