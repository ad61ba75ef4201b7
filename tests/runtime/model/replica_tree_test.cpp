// How the nodes of a worker are divided among its replicas, and added up again.
#include "runtime/model/replica_tree.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <vector>

namespace trainyard::runtime {
namespace {

constexpr std::size_t sum_elements = 5000;  // more than are added at a time

float number_of(std::int64_t leaf, std::size_t element) {
  return std::sin(static_cast<float>(leaf * 7919 + static_cast<std::int64_t>(element)));
}

// By the definition of the tree.
float sum_below(Leaves node, std::size_t element) {
  if (node.count() == 1) return number_of(node.begin, element);
  const std::int64_t middle = divide(node);
  return sum_below({node.begin, middle}, element) + sum_below({middle, node.end}, element);
}

void check_sums(const std::vector<Leaves>& nodes, std::int64_t replicas) {
  const ReplicaTree tree(nodes, replicas);
  std::vector<std::vector<float>> memory(tree.places(), std::vector<float>(sum_elements, NAN));
  std::vector<std::span<float>> places(memory.begin(), memory.end());
  std::int64_t next = nodes.front().begin;
  std::vector<std::size_t> used;
  for (std::size_t replica = 0; replica < static_cast<std::size_t>(replicas); ++replica) {
    const Leaves own = tree.leaves_of_replica(replica);
    CHECK(own.begin == next);
    for (const ReplicaTree::Piece& piece : tree.pieces(replica)) {
      CHECK(piece.node.begin == next);  // without a gap
      next = piece.node.end;
      used.push_back(piece.place);
      for (std::size_t i = 0; i < sum_elements; ++i) {
        memory[piece.place][i] = sum_below(piece.node, i);
      }
    }
    CHECK(own.end == next);
  }
  CHECK(next == nodes.back().end);
  std::ranges::sort(used);
  CHECK(std::ranges::adjacent_find(used) == used.end());  // each place has one writer
  CHECK(used.size() == tree.places());
  CHECK(tree.additions().size() == tree.places() - nodes.size());

  const std::vector<std::vector<float>> before = memory;
  tree.add_up(places, 100, 4500);
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    for (std::size_t i = 0; i < sum_elements; ++i) {
      const bool is_asked = i >= 100 && i < 4500;
      const float expected = is_asked ? sum_below(nodes[node], i) : before[node][i];
      REQUIRE(std::memcmp(&memory[node][i], &expected, sizeof expected) == 0);
    }
  }
}

}  // namespace

TEST_CASE("the sums of replicas are added along the tree, for any number of them", "[replicas]") {
  for (const std::int64_t leaves : {4, 5, 7, 8, 12, 13}) {
    for (std::int64_t begin = 0; begin < 3; ++begin) {
      const Leaves owned{begin, leaves};
      for (std::int64_t replicas = 1; replicas <= std::min<std::int64_t>(owned.count(), 5);
           ++replicas) {
        INFO("leaves " << begin << " to " << leaves << ", " << replicas << " replicas");
        check_sums(roots_of(owned, leaves), replicas);
      }
    }
  }
}

TEST_CASE("nodes of one leaf each are a replica's, and nothing is added", "[replicas]") {
  const std::vector<Leaves> nodes{{3, 4}, {4, 5}, {5, 6}};
  check_sums(nodes, 2);
  CHECK(ReplicaTree(nodes, 3).additions().empty());
}

}  // namespace trainyard::runtime
