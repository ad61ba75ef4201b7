#include "runtime/math/rows/row_bags.h"

#include <catch2/catch.hpp>

namespace trainyard::runtime {
namespace {

const SparseRows bags{.offsets = {0, 2, 2, 3}, .columns = {2, 0, 2}, .values = {2, -1, 3}};

}  // namespace

TEST_CASE("a bag is the sum of its rows, each times its value", "[rows]") {
  const std::vector<float> rows{1, 10, 2, 20, 4, 40};
  CHECK(pool_bags(bags, rows, 2) == std::vector<float>{7, 70, 0, 0, 12, 120});
}

TEST_CASE("a bag's gradient goes to each of its rows, times its value", "[rows]") {
  const std::vector<float> gradients{1, 2, 100, 100, 5, 7};
  const RowGradients spread = spread_bags({4, 6, 9}, bags, gradients, 2);
  CHECK(spread.ids == std::vector<std::int64_t>{4, 6, 9});
  CHECK(spread.rows == std::vector<float>{-1, -2, 0, 0, 17, 25});
}

TEST_CASE("bags that cannot be are refused", "[rows]") {
  CHECK(check_bags(bags, 3).has_value());
  CHECK_FALSE(check_bags(bags, 2).has_value());
  const auto refused = [](SparseRows made) {
    const Status status = check_bags(made, 3);
    return !status.has_value() && status.error().code == Code::invalid;
  };
  CHECK(refused({}));
  CHECK(refused({.offsets = {1, 2}, .columns = {0, 0}, .values = {1, 1}}));
  CHECK(refused({.offsets = {0, 1}, .columns = {0, 0}, .values = {1, 1}}));
  CHECK(refused({.offsets = {0, 3, 2}, .columns = {0, 0}, .values = {1, 1}}));
  CHECK(refused({.offsets = {0, 2}, .columns = {0, 0}, .values = {1}}));
  CHECK(refused({.offsets = {0, 1}, .columns = {-1}, .values = {1}}));
}

}  // namespace trainyard::runtime
