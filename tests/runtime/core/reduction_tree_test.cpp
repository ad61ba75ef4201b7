// The order of addition, for every number of leaves and ranks that matters.
#include "runtime/core/reduction_tree.h"

#include <catch2/catch.hpp>
#include <string>

namespace trainyard::runtime {
namespace {

// The whole addition in words, from what the ranks add and what the ps adds.
std::string words_of(Leaves node) {
  if (node.count() == 1) return std::to_string(node.begin);
  const std::int64_t middle = divide(node);
  return "(" + words_of({node.begin, middle}) + "+" + words_of({middle, node.end}) + ")";
}

std::string words_of_ranks(std::int64_t ranks, std::int64_t leaves) {
  std::vector<Leaves> nodes;
  for (std::int64_t rank = 0; rank < ranks; ++rank) {
    for (const Leaves& root : roots_of(leaves_of(rank, ranks, leaves), leaves)) {
      nodes.push_back(root);
    }
  }
  std::vector<std::string> stack;
  for (const std::int64_t what : addition_order(nodes, leaves)) {
    if (what != addition) {
      stack.push_back(words_of(nodes[static_cast<std::size_t>(what)]));
      continue;
    }
    const std::string right = stack.back();
    stack.pop_back();
    stack.back() = "(" + stack.back() + "+" + right + ")";
  }
  REQUIRE(stack.size() == 1);
  return stack.front();
}

// The same of leaves that come one after another.
std::string words_by_leaf(Leaves node) {
  std::vector<std::string> stack;
  for (std::int64_t leaf = node.begin; leaf < node.end; ++leaf) {
    std::string sum = std::to_string(leaf);
    for (std::int64_t i = nodes_that_end_with(leaf, node); i > 0; --i) {
      sum = "(" + stack.back() + "+" + sum + ")";
      stack.pop_back();
    }
    stack.push_back(sum);
  }
  REQUIRE(stack.size() == 1);
  return stack[0];
}

}  // namespace

TEST_CASE("a node is divided at a power of two", "[reduction_tree]") {
  CHECK(words_of({0, 1}) == "0");
  CHECK(words_of({0, 3}) == "((0+1)+2)");
  CHECK(words_of({0, 6}) == "(((0+1)+(2+3))+(4+5))");
}

TEST_CASE("the order of addition does not depend on who adds", "[reduction_tree]") {
  for (std::int64_t leaves = 1; leaves <= 40; ++leaves) {
    const std::string whole = words_of({0, leaves});
    for (std::int64_t ranks = 1; ranks <= leaves; ++ranks) {
      INFO(leaves << " leaves, " << ranks << " ranks");
      CHECK(words_of_ranks(ranks, leaves) == whole);
    }
  }
}

TEST_CASE("every leaf has one rank, and ranks differ by at most one leaf", "[reduction_tree]") {
  for (std::int64_t leaves = 1; leaves <= 40; ++leaves) {
    for (std::int64_t ranks = 1; ranks <= leaves; ++ranks) {
      std::int64_t next = 0;
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const Leaves owned = leaves_of(rank, ranks, leaves);
        CHECK(owned.begin == next);
        CHECK(owned.count() >= leaves / ranks);
        CHECK(owned.count() <= leaves / ranks + 1);
        next = owned.end;
      }
      CHECK(next == leaves);
    }
  }
}

TEST_CASE("a power of two of ranks sends one sum each", "[reduction_tree]") {
  for (const std::int64_t ranks : {1, 2, 4, 8}) {
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      CHECK(roots_of(leaves_of(rank, ranks, 16), 16).size() == 1);
    }
  }
  CHECK(roots_of(leaves_of(1, 3, 8), 8) == std::vector<Leaves>{{2, 4}, {4, 5}});
}

TEST_CASE("leaves that come one after another are added in the tree's order", "[reduction_tree]") {
  for (std::int64_t count = 1; count <= 33; ++count) {
    CHECK(words_by_leaf({0, count}) == words_of({0, count}));
    CHECK(words_by_leaf({7, 7 + count}) == words_of({7, 7 + count}));
  }
}

}  // namespace trainyard::runtime
