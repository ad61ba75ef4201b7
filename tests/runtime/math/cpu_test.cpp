#include "runtime/math/cpu.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <thread>

namespace trainyard::runtime {
namespace {

constexpr float least_normal = std::numeric_limits<float>::min();

// A result that would be denormal, one of its sign, one that reads a denormal number, and one at
// the edge that is none.
std::array<float, 4> results() {
  const volatile float edge = least_normal;
  const volatile float denormal = 1e-40F;
  return {edge * 0.5F, edge * -0.5F, denormal * 1e10F, edge * 1.0F};
}

}  // namespace

TEST_CASE("this host can run what the tests run", "[cpu]") { REQUIRE(check_cpu()); }

TEST_CASE("denormal numbers are zero to a thread that flushes them, and to those that it starts",
          "[cpu]") {
  std::array<float, 4> own{};
  std::array<float, 4> of_another{};
  std::thread([&] {
    flush_denormals();
    own = results();
    std::thread([&] { of_another = results(); }).join();
  }).join();
  CHECK(own == std::array{0.0F, 0.0F, 0.0F, least_normal});
  CHECK(std::signbit(own[1]));
  CHECK(of_another == own);
  CHECK(results()[0] > 0);  // and to no other
}

}  // namespace trainyard::runtime
