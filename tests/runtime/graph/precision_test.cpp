// Products by tensor cores, of fewer bits than float32, run by a loop: held against what each op is
// by definition.
#include "schemas/types/precision.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/graph/grid/tensor_core_words.h"
#include "tests/conformance/mirror/host_device.h"
#include "tests/conformance/reference/reference.h"
#include "tests/conformance/reference/rounding.h"

using namespace trainyard;
using namespace trainyard::runtime;

namespace {

const std::map<std::string, Precision> precisions{{"tf32", Precision::tf32},
                                                  {"bfloat16", Precision::bfloat16}};

std::vector<float> all_values(const Results& results) {
  std::vector<float> all;
  for (const Result& each : results.values) {
    all.insert(all.end(), each.values.begin(), each.values.end());
  }
  return all;
}

bool are_equal(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

float tf32_of(float number) { return Tf32Words::number(Tf32Words::pack({number}), 0); }

}  // namespace

TEST_CASE("a number of tf32 is the nearest of ten bits, of two the one further from zero",
          "[precision]") {
  CHECK(tf32_of(1.0F) == 1.0F);
  CHECK(tf32_of(1.0F + std::ldexp(1.0F, -10)) == 1.0F + std::ldexp(1.0F, -10));
  CHECK(tf32_of(1.0F + std::ldexp(1.0F, -11)) == 1.0F + std::ldexp(1.0F, -10));
  CHECK(tf32_of(-1.0F - std::ldexp(1.0F, -11)) == -1.0F - std::ldexp(1.0F, -10));
  CHECK(tf32_of(1.0F + std::ldexp(1.0F, -12)) == 1.0F);
  CHECK(tf32_of(std::numeric_limits<float>::infinity()) == std::numeric_limits<float>::infinity());
  CHECK(tf32_of(std::numeric_limits<float>::max()) == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(tf32_of(std::numeric_limits<float>::quiet_NaN())));
  CHECK(std::signbit(tf32_of(-0.0F)));
}

TEST_CASE("a word of bfloat16 has two numbers as the wire's codec rounds them", "[precision]") {
  std::mt19937 random(5);
  for (int i = 0; i < 100000; ++i) {
    const auto low = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const auto high = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const std::uint32_t word = Bfloat16Words::pack({low, high});
    CHECK((word & 0xFFFFU) == to_bfloat16(low));
    CHECK(word >> 16 == to_bfloat16(high));
    if (!std::isnan(low)) {
      CHECK(Bfloat16Words::number(word, 0) == from_bfloat16(to_bfloat16(low)));
    }
  }
}

TEST_CASE("in tf32 and bfloat16 an op is near its definition, and the same each time",
          "[precision]") {
  const auto& [name, precision] = GENERATE(from_range(precisions));
  const auto family = GENERATE(from_range(families()));
  DYNAMIC_SECTION(name << " " << family.name) {
    const double limit = reference::rounding_limit(precision, family.name);
    HostDevice device({.precision = precision});
    HostDevice late({.is_late = true, .precision = precision});
    Random random(31);
    for (const Case& given : family.cases(random, 6)) {
      if (!is_finite(given)) continue;
      const Case each = reference::with_small_inputs(given);
      INFO(each.name);
      const Results found = results(each, device.kernels(), &device);
      CHECK(reference::too_far(each, found, limit) == "");
      CHECK(are_equal(all_values(found), all_values(results(each, late.kernels(), &late))));
    }
  }
}

TEST_CASE("products and convolutions are what a precision changes", "[precision]") {
  const auto& [name, precision] = GENERATE(from_range(precisions));
  HostDevice exact;
  HostDevice rounded({.precision = precision});
  const auto other_cases = [&](const Family& family) {
    int others = 0;
    Random random(8);
    for (const Case& each : family.cases(random, 3)) {
      const auto a = all_values(results(each, exact.kernels(), &exact));
      const auto b = all_values(results(each, rounded.kernels(), &rounded));
      others += are_equal(a, b) ? 0 : 1;
    }
    return others;
  };
  for (const Family& family : families()) {
    INFO(name << " " << family.name);
    const bool multiplies = family.name == "dense" || family.name == "product" ||
                            family.name == "image" || family.name == "recurrent" ||
                            family.name == "attention";
    CHECK((other_cases(family) > 0) == multiplies);
  }
}
