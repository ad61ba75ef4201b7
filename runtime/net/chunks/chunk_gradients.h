// Gradients that came to a share, one of each rank and chunk: in room of their own, or in memory
// that the rank lends. They are read once, as the sum of a step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/net/chunks/shared_layout.h"
#include "runtime/net/chunks/store_layout.h"
#include "runtime/net/tree_sum.h"

namespace trainyard::runtime {

class ChunkGradients {
 public:
  explicit ChunkGradients(StoreLayoutPtr layout);

  // Where a rank's gradient of a chunk goes: as many bytes as the wire has of it. It is free again
  // after the update that reads it.
  [[nodiscard]] std::span<std::byte> place(std::int64_t rank, std::int64_t chunk);
  struct Came {
    std::int64_t rank = 0;
    std::int64_t chunk = 0;
    std::int64_t denominator = 0;  // as in BatchSums
  };
  // It has come, and lies there; null: in its place here.
  void came(const Came& gradient, SharedArenasPtr memory);
  // Null: it is in its place here.
  [[nodiscard]] const SharedArenasPtr& memory_of(std::int64_t rank, std::int64_t chunk) const {
    return lent_.at(index_of(rank)).at(index_of(chunk));
  }
  // Of the chunk, until this is called again or a gradient goes to its place. Its bits depend on
  // the order of nodes in the tree alone. Async: of one rank.
  [[nodiscard]] TreeSum sum_of(std::int64_t chunk, std::span<const std::int64_t> ranks);
  // What that sum is divided by to be the mean, as those who sent it say.
  [[nodiscard]] std::int64_t denominator_of(std::int64_t chunk,
                                            std::span<const std::int64_t> ranks) const;
  // It was read: the memory is the rank's again.
  void give_back(std::int64_t rank, std::int64_t chunk) { came({rank, chunk, 0}, nullptr); }

 private:
  [[nodiscard]] Payload payload_of(std::int64_t rank, std::int64_t chunk);

  StoreLayoutPtr layout_;
  std::vector<std::int64_t> order_;                      // sync: of all nodes of a step
  std::vector<std::vector<std::int64_t>> rank_order_;    // async: by rank, of its own
  std::vector<std::vector<std::int64_t>> places_;        // by rank and chunk: byte in own_
  std::vector<AlignedBuffer> own_;                       // by rank
  std::vector<std::vector<SharedArenasPtr>> lent_;       // by rank and chunk: where it lies instead
  std::vector<std::vector<std::int64_t>> denominators_;  // likewise
  std::vector<Payload> payloads_;                        // of the sum that is made
};

}  // namespace trainyard::runtime
