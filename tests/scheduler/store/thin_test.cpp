// Thinner: bounds, extremes, order; for every length up to a few times the bound.
#include "scheduler/store/thin.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace trainyard::scheduler;

namespace {

std::vector<MetricPoint> thinned(const std::vector<MetricPoint>& points, std::int64_t points_max) {
  Thinner thinner(points_max);
  for (const MetricPoint& point : points) thinner.add(point);
  return thinner.take();
}

std::vector<MetricPoint> random_curve(std::int64_t length) {
  std::mt19937 random(static_cast<unsigned>(length));
  std::vector<MetricPoint> points;
  for (std::int64_t step = 0; step < length; ++step) {
    points.push_back({.step = step * 3, .value = static_cast<double>(random() % 1000), .time = {}});
  }
  return points;
}

}  // namespace

TEST_CASE("no point makes no point", "[thin]") { CHECK(thinned({}, 10).empty()); }

TEST_CASE("a curve that is short enough comes out as it went in", "[thin]") {
  for (std::int64_t length = 1; length <= 20; ++length) {
    CHECK(std::ssize(thinned(random_curve(length), 20)) == length);
  }
}

TEST_CASE("a curve of any length keeps its bound, order, ends and extremes", "[thin]") {
  for (std::int64_t length = 1; length <= 500; ++length) {
    const auto points = random_curve(length);
    const auto shown = thinned(points, 20);

    INFO("length " << length);
    REQUIRE(shown.size() <= 20);
    REQUIRE(shown.size() >= std::min<std::size_t>(static_cast<std::size_t>(length), 8));
    REQUIRE(shown.front().step == points.front().step);
    REQUIRE(shown.back().step == points.back().step);
    REQUIRE(std::ranges::adjacent_find(shown, std::greater_equal<>{}, &MetricPoint::step) ==
            shown.end());
    const auto [low, high] = std::ranges::minmax(points, {}, &MetricPoint::value);
    REQUIRE(std::ranges::min(shown, {}, &MetricPoint::value).value == low.value);
    REQUIRE(std::ranges::max(shown, {}, &MetricPoint::value).value == high.value);
  }
}

TEST_CASE("a loss that becomes no number stays in sight", "[thin]") {
  auto points = random_curve(300);
  points[123].value = std::nan("");

  const auto shown = thinned(points, 10);

  CHECK(
      std::ranges::any_of(shown, [](const MetricPoint& point) { return std::isnan(point.value); }));
}
