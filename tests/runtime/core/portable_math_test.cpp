#include "runtime/core/portable_math.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numbers>

namespace trainyard::runtime {

TEST_CASE("the portable logarithm agrees with the C library's", "[portable_math]") {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    INFO(x);
    REQUIRE(portable_log(x) == Approx(std::log(x)).epsilon(1e-15).margin(4e-16));
  }
  for (int i = 1; i <= 4000; ++i) {  // around 1, where digits are lost first
    const double x = 0.5 + i / 2000.0;
    REQUIRE(portable_log(x) == Approx(std::log(x)).epsilon(1e-14).margin(3e-16));
  }
  REQUIRE(portable_log(1.0) == 0.0);
}

TEST_CASE("the portable logarithm passes infinity and NaN on", "[portable_math]") {
  REQUIRE(std::isnan(portable_log(std::numeric_limits<double>::quiet_NaN())));
  REQUIRE(std::isinf(portable_log(std::numeric_limits<double>::infinity())));
}

TEST_CASE("the portable exponential agrees with the C library's", "[portable_math]") {
  for (double x = -708.0; x < 709.7; x += 0.0937) {
    INFO(x);
    REQUIRE(portable_exp(x) == Approx(std::exp(x)).epsilon(1e-15));
  }
  REQUIRE(portable_exp(0.0) == 1.0);
  REQUIRE(portable_exp(-1e-300) == 1.0);
  REQUIRE(portable_exp(709.75) == Approx(std::exp(709.75)).epsilon(1e-15));
}

TEST_CASE("the portable exponential ends at 0 and infinity, and passes NaN on", "[portable_math]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  REQUIRE(portable_exp(-709.0) == 0.0);
  REQUIRE(portable_exp(-infinity) == 0.0);
  REQUIRE(portable_exp(710.0) == infinity);
  REQUIRE(portable_exp(infinity) == infinity);
  REQUIRE(std::isnan(portable_exp(std::numeric_limits<double>::quiet_NaN())));
}

TEST_CASE("the portable cosine agrees with the C library's", "[portable_math]") {
  for (int i = -5000; i <= 5000; ++i) {
    const double turns = i / 1237.0;
    INFO(turns);
    REQUIRE(cos_of_turns(turns) == Approx(std::cos(2 * std::numbers::pi * turns)).margin(1e-14));
  }
  REQUIRE(cos_of_turns(0.0) == 1.0);
  REQUIRE(cos_of_turns(0.25) == 0.0);
  REQUIRE(cos_of_turns(0.5) == -1.0);
}

TEST_CASE("integer powers agree with repeated multiplication", "[portable_math]") {
  REQUIRE(integer_power(0.9, 0) == 1.0);
  REQUIRE(integer_power(2.0, 10) == 1024.0);
  REQUIRE(integer_power(0.999, 5000) == Approx(std::pow(0.999, 5000)).epsilon(1e-12));
}

}  // namespace trainyard::runtime
