#include "runtime/core/exact_sum.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace trainyard::runtime::exact_sum_tests {
namespace {

double sum_of(const std::vector<double>& values) {
  ExactSum sum;
  for (const double value : values) sum.add(value);
  return sum.value();
}

}  // namespace

TEST_CASE("an exact sum is rounded once, to the nearest double", "[exact_sum]") {
  CHECK(sum_of({}) == 0);
  CHECK(sum_of({0, 0.0}) == 0);
  CHECK(sum_of({1, 2, 3.5}) == 6.5);
  CHECK(sum_of({0x1p-298}) == 0x1p-298);
  CHECK(sum_of({0x1p290, 0x1p-298}) == 0x1p290);
  // A chain of doubles would lose each of the small ones.
  std::vector<double> values{0x1p60};
  values.insert(values.end(), 4096, 1);
  CHECK(sum_of(values) == 0x1p60 + 4096);
  // Half a unit of the last place goes to the even neighbour, and a bit more goes up.
  CHECK(sum_of({0x1p53, 1}) == 0x1p53);
  CHECK(sum_of({0x1p53, 1, 0x1p-298}) == 0x1p53 + 2);
  CHECK(sum_of({0x1p53, 2, 1}) == 0x1p53 + 4);
}

TEST_CASE("an exact sum does not depend on the order, nor on how it is divided", "[exact_sum]") {
  std::mt19937_64 random(5);
  std::vector<double> values;
  for (int i = 0; i < 2000; ++i) {
    const auto bits = static_cast<float>(random() >> 40);  // a float's 24 bits
    const double value =
        static_cast<double>(std::ldexp(bits, static_cast<int>(random() % 250) - 149));
    values.push_back(value * value);
  }
  const double whole = sum_of(values);
  for (int round = 0; round < 5; ++round) {
    std::ranges::shuffle(values, random);
    CHECK(sum_of(values) == whole);
    ExactSum left, right;
    const std::size_t cut = random() % values.size();
    for (std::size_t i = 0; i < values.size(); ++i) (i < cut ? left : right).add(values[i]);
    ExactSum copy(right.words_of());
    copy += left;
    CHECK(copy.value() == whole);
  }
}

TEST_CASE("what is no sum of squares of floats makes an exact sum NaN for good", "[exact_sum]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double wrong : {infinity, -1.0, std::nan(""), 0x1p-299, 0x1p400}) {
    ExactSum sum;
    sum.add(2);
    sum.add(wrong);
    sum.add(3);
    CHECK(std::isnan(sum.value()));
    ExactSum other;
    other.add(1);
    other += sum;
    CHECK(std::isnan(other.value()));
  }
  const double largest = std::numeric_limits<float>::max();
  CHECK(sum_of({largest * largest, largest * largest}) == 2 * largest * largest);
  ExactSum full(
      ExactSum::Words{~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL});
  CHECK_FALSE(std::isnan(full.value()));
  full.add(0x1p-298);
  CHECK(std::isnan(full.value()));
}

}  // namespace trainyard::runtime::exact_sum_tests
