// Which of a worker's nodes of the reduction tree (runtime/core/reduction_tree.h) which of its
// replicas compute, and how their sums are added: along the same tree, so that no bit depends on
// how many replicas there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/reduction_tree.h"

namespace trainyard::runtime {

class ReplicaTree {
 public:
  // `nodes`: one after another, each replica has one of their leaves at least.
  ReplicaTree(std::span<const Leaves> nodes, std::int64_t replicas);

  // A node whose leaves are one replica's. The sums of the nodes that are asked for are in the
  // first places, in their order.
  struct Piece {
    Leaves node;
    std::size_t place = 0;
  };
  // Of one replica, in the order of leaves.
  [[nodiscard]] std::span<const Piece> pieces(std::size_t replica) const {
    return pieces_[replica];
  }
  // A run of leaves, as equal as they can be.
  [[nodiscard]] Leaves leaves_of_replica(std::size_t replica) const;
  [[nodiscard]] Leaves leaves() const { return owned_; }
  [[nodiscard]] std::size_t places() const { return places_; }
  struct Addition {
    std::size_t left = 0;  // and where the sum is
    std::size_t right = 0;
  };
  // From the leaves upwards.
  [[nodiscard]] std::span<const Addition> additions() const { return additions_; }

  // What is in the places of pieces becomes the sums of the nodes: of the elements [begin, end).
  void add_up(std::span<const std::span<float>> places, std::size_t begin, std::size_t end) const;

 private:
  void add_node(Leaves node, std::size_t place);

  Leaves owned_;
  std::int64_t replicas_;
  std::size_t places_;
  std::vector<std::vector<Piece>> pieces_;  // by replica
  std::vector<Addition> additions_;
};

}  // namespace trainyard::runtime
