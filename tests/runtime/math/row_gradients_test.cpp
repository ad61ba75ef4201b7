#include "runtime/math/rows/row_gradients.h"

#include <map>
#include <set>

#include "runtime/core/reduction_tree.h"
#include "runtime/core/row_layout.h"
#include "tests/runtime/math/floats.h"

namespace trainyard::runtime {

namespace {

constexpr std::int64_t width = 3;

// Of a leaf: about half of 12 ids.
RowGradients leaf_gradients(std::int64_t leaf) {
  const CounterRng rng(static_cast<std::uint64_t>(leaf), RngStream::synthetic);
  RowGradients gradients;
  for (std::int64_t id = 0; id < 12; ++id) {
    if (rng.bits(static_cast<std::uint64_t>(id)) % 2 == 0) gradients.ids.push_back(id * id);
  }
  gradients.rows =
      random_floats(gradients.ids.size() * width, 100 + static_cast<std::uint64_t>(leaf));
  return gradients;
}

RowGradients node_sum(Leaves node) {
  if (node.count() == 1) return leaf_gradients(node.begin);
  const std::int64_t middle = divide(node);
  return add_rows(node_sum({node.begin, middle}), node_sum({middle, node.end}), width);
}

}  // namespace

TEST_CASE("rows are added by id, and each side's own are kept", "[rows]") {
  const RowGradients left{.ids = {1, 5, 9}, .rows = {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  const RowGradients right{.ids = {0, 5}, .rows = {-1, -2, -3, 10, 20, 30}};
  const RowGradients sum = add_rows(left, right, 3);
  CHECK(sum.ids == std::vector<std::int64_t>{0, 1, 5, 9});
  CHECK(sum.rows == std::vector<float>{-1, -2, -3, 1, 2, 3, 14, 25, 36, 7, 8, 9});
  CHECK(add_rows(left, {}, 3) == left);
  CHECK(add_rows({}, left, 3) == left);
}

TEST_CASE("the sum of a step's rows has the same bits for any number of ranks", "[rows]") {
  for (const std::int64_t leaves : {1, 2, 7, 12}) {
    const RowGradients expected = node_sum({0, leaves});
    for (std::int64_t ranks = 1; ranks <= leaves; ++ranks) {
      INFO(ranks << " ranks, " << leaves << " leaves");
      std::vector<Leaves> nodes;
      std::vector<RowGradients> parts;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        for (const Leaves root : roots_of(leaves_of(rank, ranks, leaves), leaves)) {
          nodes.push_back(root);
          parts.push_back(node_sum(root));
        }
      }
      const RowGradients sum = sum_of_rows(parts, addition_order(nodes, leaves), width);
      CHECK(sum.ids == expected.ids);
      require_same_bits(sum.rows, expected.rows);
    }
  }
}

TEST_CASE("every row goes to one ps, about as many to each, in order", "[rows]") {
  RowGradients all;
  for (std::int64_t id = 0; id < 30'000; ++id) all.ids.push_back(3 * id);
  all.rows = random_floats(all.ids.size() * width, 1);
  for (const std::int64_t owners : {1, 2, 3, 7}) {
    RowGradients sum;
    for (const RowGradients& share : split_by_owner(all, owners, width)) {
      CHECK(std::ranges::is_sorted(share.ids));
      const double fair = 30'000.0 / static_cast<double>(owners);
      CHECK(static_cast<double>(share.ids.size()) == Approx(fair).epsilon(0.06));
      sum = add_rows(sum, share, width);
    }
    CHECK(sum == all);
  }
}

}  // namespace trainyard::runtime
