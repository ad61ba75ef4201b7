#include "runtime/model/replica_tree.h"

#include <algorithm>

#include "schemas/base/check.h"
#include "schemas/base/index.h"

namespace trainyard::runtime {

ReplicaTree::ReplicaTree(std::span<const Leaves> nodes, std::int64_t replicas)
    : owned_{nodes.front().begin, nodes.back().end},
      replicas_(replicas),
      places_(nodes.size()),
      pieces_(index_of(replicas)) {
  ENSURE(replicas >= 1 && replicas <= owned_.count());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    ENSURE(i == 0 || nodes[i].begin == nodes[i - 1].end);
    add_node(nodes[i], i);
  }
}

Leaves ReplicaTree::leaves_of_replica(std::size_t replica) const {
  const Leaves own = leaves_of(static_cast<std::int64_t>(replica), replicas_, owned_.count());
  return {owned_.begin + own.begin, owned_.begin + own.end};
}

void ReplicaTree::add_node(Leaves node, std::size_t place) {
  for (std::size_t replica = 0; replica < pieces_.size(); ++replica) {
    const Leaves own = leaves_of_replica(replica);
    if (node.begin < own.begin || own.end < node.end) continue;
    pieces_[replica].push_back({node, place});
    return;
  }
  const std::int64_t middle = divide(node);
  const std::size_t right = places_++;
  add_node({node.begin, middle}, place);
  add_node({middle, node.end}, right);
  additions_.push_back({place, right});
}

// Some at a time, that stay in the cache for the next addition.
void ReplicaTree::add_up(std::span<const std::span<float>> places, std::size_t begin,
                         std::size_t end) const {
  constexpr std::size_t block = 4096;
  for (; begin < end; begin += block) {
    const std::size_t count = std::min(block, end - begin);
    for (const Addition& addition : additions_) {
      float* const sum = places[addition.left].data() + begin;
      const float* const right = places[addition.right].data() + begin;
      for (std::size_t i = 0; i < count; ++i) sum[i] += right[i];
    }
  }
}

}  // namespace trainyard::runtime
