// Sums of a node's leaves that are added while the last leaf is still computed.
#include "runtime/model/node_sums.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

namespace trainyard::runtime {
namespace {

constexpr std::size_t elements = 1000;

float gradient_of(std::int64_t leaf, std::size_t element) {
  return std::sin(static_cast<float>(leaf * 7919 + static_cast<std::int64_t>(element)));
}

void write(std::int64_t leaf, std::span<float> to, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i) to[i] = gradient_of(leaf, i);
}

// By the definition of the tree, an element at a time.
float sum_of(Leaves node, std::size_t element) {
  if (node.count() == 1) return gradient_of(node.begin, element);
  const std::int64_t middle = divide(node);
  return sum_of({node.begin, middle}, element) + sum_of({middle, node.end}, element);
}

}  // namespace

TEST_CASE("what is settled while the last leaf is computed is the node's sum, to the bit",
          "[node_sums]") {
  NodeSums sums({.elements = elements, .state = elements});
  for (const Leaves node : {Leaves{0, 1}, {0, 2}, {3, 6}, {0, 7}, {8, 16}, {0, 12}}) {
    INFO("leaves " << node.begin << " to " << node.end);
    std::vector<float> total(elements, NAN);
    RowGradients rows;
    const auto leaf = [&](std::int64_t number, NodeSum sum) -> Result<bool> {
      if (number + 1 < node.end) {
        write(number, sum.dense, 0, elements);
        return true;
      }
      std::size_t end = elements;
      for (const std::size_t from : {900UL, 899UL, 512UL, 100UL}) {
        write(number, sum.dense, from, end);
        sums.settle(from);
        for (std::size_t i = from; i < end; ++i) REQUIRE(total[i] == sum_of(node, i));
        end = from;
      }
      write(number, sum.dense, 0, end);  // this is left to the end
      return true;
    };
    REQUIRE(sums.add_up(node, {total, rows}, leaf).has_value());
    for (std::size_t i = 0; i < elements; ++i) REQUIRE(total[i] == sum_of(node, i));
  }
}

TEST_CASE("state waits for the end of a node, whatever is settled before it", "[node_sums]") {
  constexpr std::size_t state = 700;
  NodeSums sums({.elements = elements, .state = state});
  for (const Leaves node : {Leaves{0, 1}, {0, 2}, {3, 6}, {0, 7}, {0, 12}}) {
    INFO("leaves " << node.begin << " to " << node.end);
    std::vector<float> total(elements, NAN);
    RowGradients rows;
    const auto leaf = [&](std::int64_t number, NodeSum sum) -> Result<bool> {
      if (number + 1 < node.end) {
        write(number, sum.dense, 0, elements);
        return true;
      }
      std::size_t end = state;
      for (const std::size_t from : {950UL, 700UL, 512UL, 100UL}) {
        if (from < end) write(number, sum.dense, from, end);
        sums.settle(from);
        for (std::size_t i = from; i < end; ++i) REQUIRE(total[i] == sum_of(node, i));
        end = std::min(end, from);
      }
      write(number, sum.dense, state, elements);  // only now
      write(number, sum.dense, 0, end);
      return true;
    };
    REQUIRE(sums.add_up(node, {total, rows}, leaf).has_value());
    for (std::size_t i = 0; i < elements; ++i) REQUIRE(total[i] == sum_of(node, i));
  }
}

TEST_CASE("a node after one that was stopped is summed from its beginning", "[node_sums]") {
  NodeSums sums({.elements = elements, .state = elements});
  std::vector<float> total(elements);
  RowGradients rows;
  const auto stopped = [&](std::int64_t number, NodeSum sum) -> Result<bool> {
    write(number, sum.dense, 0, elements);
    if (number == 2) sums.settle(10);
    return number < 2;
  };
  REQUIRE_FALSE(*sums.add_up({0, 3}, {total, rows}, stopped));
  const auto leaf = [&](std::int64_t number, NodeSum sum) -> Result<bool> {
    write(number, sum.dense, 0, elements);
    return true;
  };
  REQUIRE(*sums.add_up({0, 3}, {total, rows}, leaf));
  for (std::size_t i = 0; i < elements; ++i) REQUIRE(total[i] == sum_of({0, 3}, i));
}

}  // namespace trainyard::runtime
