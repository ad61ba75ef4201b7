#include "runtime/core/reduction_tree.h"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

void add_roots(Leaves node, Leaves owned, std::vector<Leaves>& roots) {
  if (node.end <= owned.begin || owned.end <= node.begin) return;
  if (owned.begin <= node.begin && node.end <= owned.end) {
    roots.push_back(node);
    return;
  }
  const std::int64_t middle = divide(node);
  add_roots({node.begin, middle}, owned, roots);
  add_roots({middle, node.end}, owned, roots);
}

void add_order(Leaves node, const std::vector<Leaves>& nodes, std::size_t& next,
               std::vector<std::int64_t>& order) {
  ENSURE(next < nodes.size() && nodes[next].begin == node.begin);
  if (nodes[next] == node) {
    order.push_back(static_cast<std::int64_t>(next++));
    return;
  }
  const std::int64_t middle = divide(node);
  add_order({node.begin, middle}, nodes, next, order);
  add_order({middle, node.end}, nodes, next, order);
  order.push_back(addition);
}

}  // namespace

std::int64_t nodes_that_end_with(std::int64_t leaf, Leaves node) {
  ENSURE(node.begin <= leaf && leaf < node.end);
  std::int64_t count = 0;
  while (node.count() > 1) {
    if (node.end == leaf + 1) ++count;
    const std::int64_t middle = divide(node);
    node = leaf < middle ? Leaves{node.begin, middle} : Leaves{middle, node.end};
  }
  return count;
}

std::int64_t divide(Leaves node) {
  ENSURE(node.count() > 1);
  const auto half = std::bit_floor(static_cast<std::uint64_t>(node.count() - 1));
  return node.begin + static_cast<std::int64_t>(half);
}

Leaves leaves_of(std::int64_t rank, std::int64_t ranks, std::int64_t leaves) {
  ENSURE(rank >= 0 && rank < ranks && ranks <= leaves);
  return {rank * leaves / ranks, (rank + 1) * leaves / ranks};
}

std::vector<Leaves> roots_of(Leaves owned, std::int64_t leaves) {
  ENSURE(owned.begin >= 0 && owned.end <= leaves && owned.count() > 0);
  std::vector<Leaves> roots;
  add_roots({0, leaves}, owned, roots);
  return roots;
}

std::vector<std::int64_t> addition_order(const std::vector<Leaves>& nodes, std::int64_t leaves) {
  std::vector<std::int64_t> order;
  std::size_t next = 0;
  add_order({0, leaves}, nodes, next, order);
  ENSURE(next == nodes.size());
  return order;
}

}  // namespace trainyard::runtime
