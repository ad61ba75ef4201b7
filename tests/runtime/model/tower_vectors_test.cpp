#include "runtime/model/tower_vectors.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <numeric>

namespace trainyard::runtime {
namespace {

// Items e0, e1, e2 of three features, then e0 again; users like them in different orders.
const std::vector<float> unit_items{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0};
const std::vector<float> some_users{3, 2, 1, 3, 2, 1, 3, 2, 1, 1, 2, 3};
const std::vector<std::uint64_t> item_keys{70, 71, 72, 70};
const std::vector<std::uint64_t> user_keys{9, 9, 9, 8};

// Examples begin .. end - 1 of these.
TowerExamples examples_of(std::size_t begin, std::size_t end) {
  const auto count = static_cast<std::int64_t>(end - begin);
  return {.users = {some_users.data() + 3 * begin, {count, 3}},
          .items = {unit_items.data() + 3 * begin, {count, 3}},
          .user_keys = std::span(user_keys).subspan(begin, end - begin),
          .item_keys = std::span(item_keys).subspan(begin, end - begin)};
}

double recall_of(const TowerVectors& towers, std::int64_t k) {
  const auto share = towers.recall(k, [] { return false; });
  REQUIRE(share);
  return *share;
}

}  // namespace

TEST_CASE("recall of a split is among the distinct items of all batches", "[metrics]") {
  TowerVectors one;
  CHECK(one.empty());
  one.add(examples_of(0, 4));
  CHECK(recall_of(one, 1) == 0.25);
  CHECK(recall_of(one, 2) == 0.5);
  CHECK(recall_of(one, 3) == 1);
  TowerVectors two;
  two.add(examples_of(0, 1));
  two.add(examples_of(1, 4));
  for (const std::int64_t k : {1, 2, 3}) CHECK(recall_of(two, k) == recall_of(one, k));
}

TEST_CASE("an item that a user has in training is no wrong one for it", "[metrics]") {
  TowerVectors towers;
  towers.add(examples_of(0, 4));
  towers.add_trained(9, 70);  // before e1 and e2 for user 9, and the right one of its first example
  towers.add_trained(9, 70);  // twice counts once
  towers.add_trained(8, 999);  // nobody's item, nobody
  towers.add_trained(777, 70);
  CHECK(recall_of(towers, 1) == 0.5);
  CHECK(recall_of(towers, 2) == 0.75);
  towers.add_trained(9, 71);
  CHECK(recall_of(towers, 1) == 0.75);
  towers.add_trained(8, 71);
  towers.add_trained(8, 72);
  CHECK(recall_of(towers, 1) == 1);
}

TEST_CASE("a stop ends a recall at the next block of products", "[metrics]") {
  // 3,000 items of one number: 1,398 users fit into a block of 2^22 products.
  constexpr std::int64_t count = 3000;
  const std::vector<float> vectors(count, 1);
  std::vector<std::uint64_t> keys(count);
  std::iota(keys.begin(), keys.end(), std::uint64_t{0});
  TowerVectors towers;
  towers.add({{vectors.data(), {count, 1}}, {vectors.data(), {count, 1}}, keys, keys});
  for (int blocks = 0; blocks < 3; ++blocks) {
    int asked = 0;
    const auto share = towers.recall(1, [&asked, blocks] { return ++asked > blocks; });
    CHECK_FALSE(share);
    CHECK(asked == blocks + 1);
  }
  CHECK(recall_of(towers, 1) == Approx(1.0 / count));
}

TEST_CASE("an item whose product is no number is never the right one", "[metrics]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> vectors{nan, 1, 1};
  const std::vector<float> ones{1, 1, 1};
  const std::vector<std::uint64_t> keys{1, 2, 3};
  TowerVectors towers;
  towers.add({{ones.data(), {3, 1}}, {vectors.data(), {3, 1}}, keys, keys});
  CHECK(recall_of(towers, 2) == Approx(2.0 / 3));
  CHECK(recall_of(towers, 1) == Approx(1.0 / 3));  // of equal ones the first
  CHECK(recall_of(towers, 3) == Approx(2.0 / 3));
}

}  // namespace trainyard::runtime
