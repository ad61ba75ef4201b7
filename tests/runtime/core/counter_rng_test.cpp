#include "runtime/core/counter_rng.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {

using Words = std::array<std::uint32_t, 4>;

// From the authors' library, Random123, file kat_vectors.
TEST_CASE("philox gives the known answers of its authors", "[counter_rng]") {
  REQUIRE(philox4x32({0, 0, 0, 0}, {0, 0}) ==
          Words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
  constexpr std::uint32_t ones = 0xFFFFFFFF;
  REQUIRE(philox4x32({ones, ones, ones, ones}, {ones, ones}) ==
          Words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
  REQUIRE(philox4x32({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
          Words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
}

TEST_CASE("a number depends on seed, stream, substream and position, and on nothing else",
          "[counter_rng]") {
  const CounterRng rng(7, RngStream::initialize, 3);
  const std::uint64_t number = rng.bits(12);

  REQUIRE(CounterRng(7, RngStream::initialize, 3).bits(12) == number);
  REQUIRE(CounterRng(8, RngStream::initialize, 3).bits(12) != number);
  REQUIRE(CounterRng(7 + (std::uint64_t{1} << 32), RngStream::initialize, 3).bits(12) != number);
  REQUIRE(CounterRng(7, RngStream::shuffle, 3).bits(12) != number);
  REQUIRE(CounterRng(7, RngStream::initialize, 4).bits(12) != number);
  REQUIRE(rng.bits(13) != number);
  REQUIRE(rng.bits(12 + (std::uint64_t{1} << 32)) != number);
}

TEST_CASE("uniform numbers lie in [0, 1) with the right mean and spread", "[counter_rng]") {
  const CounterRng rng(1, RngStream::synthetic);
  constexpr int count = 100'000;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = rng.uniform(i);
    REQUIRE((value >= 0.0 && value < 1.0));
    sum += value;
    squares += value * value;
  }
  const double mean = sum / count;
  REQUIRE(mean == Approx(0.5).margin(0.005));
  REQUIRE(squares / count - mean * mean == Approx(1.0 / 12).margin(0.002));
}

TEST_CASE("normal numbers have mean 0, variance 1 and the tails of a normal distribution",
          "[counter_rng]") {
  const CounterRng rng(1, RngStream::initialize);
  constexpr int count = 100'000;
  double sum = 0;
  double squares = 0;
  int beyond_two = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double value = rng.normal(i);
    sum += value;
    squares += value * value;
    if (value > 2 || value < -2) ++beyond_two;
  }
  REQUIRE(sum / count == Approx(0.0).margin(0.015));
  REQUIRE(squares / count == Approx(1.0).margin(0.02));
  REQUIRE(static_cast<double>(beyond_two) / count == Approx(0.0455).margin(0.003));
}

// These bits are in every checkpoint ever written: they never change.
TEST_CASE("the first normal numbers of seed 42 are what they always were", "[counter_rng]") {
  const CounterRng rng(42, RngStream::initialize);
  REQUIRE(rng.bits(0) == 0x2051E91302933769);
  REQUIRE(rng.normal(0) == -0x1.fc4eccdf40b92p-4);
  REQUIRE(rng.normal(1) == 0x1.e10f032038032p-2);
}

}  // namespace trainyard::runtime
