#include "schemas/base/result.h"

#include <catch2/catch.hpp>
#include <memory>

using namespace trainyard;

namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return invalid("odd: " + std::to_string(number));
  return number / 2;
}

Result<int> quarter(int number) {
  TRY_ASSIGN(const int once, half(number));
  TRY_ASSIGN(const int twice, half(once));
  return twice;
}

Status all_even(int first, int second) {
  TRY(half(first));
  TRY(half(second));
  return ok();
}

}  // namespace

TEST_CASE("a result is a value or an error", "[base]") {
  const Result<int> good = half(4);
  REQUIRE(good.has_value());
  CHECK(*good == 2);

  const Result<int> bad = half(5);
  REQUIRE_FALSE(bad);
  CHECK(bad.error() == invalid("odd: 5"));
}

TEST_CASE("TRY_ASSIGN hands on the first error and nothing after it runs", "[base]") {
  CHECK(quarter(8).value() == 2);
  CHECK(quarter(5).error().message == "odd: 5");
  CHECK(quarter(6).error().message == "odd: 3");
}

TEST_CASE("TRY works in a function that returns only a status", "[base]") {
  CHECK(all_even(2, 4).has_value());
  CHECK(all_even(2, 5).error().message == "odd: 5");
}

TEST_CASE("a result moves what cannot be copied", "[base]") {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = std::move(result).value();
  CHECK(*taken == 7);
}

TEST_CASE("each kind of error has its code", "[base]") {
  CHECK(invalid("x").code == Code::invalid);
  CHECK(not_found("x").code == Code::not_found);
  CHECK(conflict("x").code == Code::conflict);
  CHECK(unavailable("x").code == Code::unavailable);
  CHECK(internal("x").code == Code::internal);
}
