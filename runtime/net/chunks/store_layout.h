// What a store of a share was told, and where things lie in it: its chunks in the arena and in the
// share, and by rank what is sent of them. It holds no tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "runtime/core/arena_chunks.h"
#include "runtime/core/batch_sums.h"
#include "runtime/core/chunk_plan.h"
#include "runtime/core/reduction_tree.h"
#include "runtime/math/optim/arena_update.h"
#include "runtime/math/optim/optimizer.h"
#include "runtime/net/chunks/shared_layout.h"
#include "schemas/base/index.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

struct StoreRules {
  std::vector<Range> chunks;  // of the arena, ascending
  std::int64_t arena_elements = 0;
  std::int64_t holders = 1;  // who the arena's chunks are divided among, some with none perhaps
  Wire push = Wire::float32;
  Wire pull = Wire::float32;  // float32 or bfloat16
  // Chunks from there on are state, of float32 whatever the wires.
  std::int64_t state_begin = no_state;
  // Parameters of this version, the last, and newer ones are not rounded, whatever the pull.
  std::int64_t exact_from = std::numeric_limits<std::int64_t>::max();
  OptimizerConfig optimizer;
  ArenaUpdate update = {};  // which elements it is for
  MeanOver mean_over = MeanOver::examples;
  double clip_norm = 0;  // of the mean gradient, at most; 0: any
  // By rank, the nodes of the reduction tree whose sums it sends of each step. Sync: together they
  // are the whole tree of `leaves`. Async: each rank's own are.
  std::vector<std::vector<Leaves>> nodes;
  std::int64_t leaves = 1;
  Mode mode = Mode::sync;
  // Sync with backup workers: a step is of so many ranks, each of which sends one sum, as of a
  // leaf. 0: of all.
  std::int64_t aggregate = 0;
  std::int64_t version = 0;  // that training begins with
};

class StoreLayout {
 public:
  explicit StoreLayout(StoreRules rules);

  [[nodiscard]] const StoreRules& rules() const { return rules_; }
  [[nodiscard]] std::int64_t ranks() const { return std::ssize(rules_.nodes); }
  [[nodiscard]] std::int64_t chunks() const { return std::ssize(shares_); }
  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] std::int64_t largest_chunk() const;  // elements

  // The chunk, in the arena; as a share of it alone.
  [[nodiscard]] const Share& share_of(std::int64_t chunk) const {
    return shares_.at(index_of(chunk));
  }
  [[nodiscard]] const Range& range_of(std::int64_t chunk) const {
    return share_of(chunk).ranges.front();
  }
  [[nodiscard]] bool is_state(std::int64_t chunk) const {
    return range_of(chunk).begin >= rules_.state_begin;
  }
  // As its gradients and parameters travel.
  [[nodiscard]] Wire push_of(std::int64_t chunk) const {
    return wire_of_chunk(rules_.push, range_of(chunk), rules_.state_begin);
  }
  [[nodiscard]] Wire pull_of(std::int64_t chunk) const {
    return wire_of_chunk(rules_.pull, range_of(chunk), rules_.state_begin);
  }
  // Where all chunks lie one after another.
  [[nodiscard]] Range place_of(std::int64_t chunk) const;

  // Sums that a rank sends of each step.
  [[nodiscard]] std::size_t parts_of(std::int64_t rank) const {
    return rules_.nodes.at(index_of(rank)).size();
  }
  // Of a part of a rank: a name that no other rank's part has.
  [[nodiscard]] std::int64_t leaf_of(std::int64_t rank, std::size_t part) const;
  // A rank's gradient of a chunk, all parts, as the wire has it.
  [[nodiscard]] std::size_t gradient_bytes_of(std::int64_t rank, std::int64_t chunk) const;
  // Of a residual of the chunk, which state has none of.
  [[nodiscard]] std::int64_t residual_elements_of(std::int64_t chunk) const {
    return is_state(chunk) ? 0 : range_of(chunk).size();
  }
  // A rank's residual of it: float32, part by part.
  [[nodiscard]] std::size_t residual_bytes_of(std::int64_t rank, std::int64_t chunk) const;
  // The memory of a rank that shares it; which says whether parameters stay rounded.
  [[nodiscard]] SharedLayout memory_of(std::int64_t rank) const;

 private:
  const StoreRules rules_;
  std::vector<Share> shares_;          // by chunk
  std::vector<std::int64_t> offsets_;  // by chunk: elements of the chunks before it
  std::int64_t elements_ = 0;
};
// Shared by the parts of a store, which is moved to where it is used; it never changes.
using StoreLayoutPtr = std::shared_ptr<const StoreLayout>;

// Bytes of a chunk, as they are sent, and what holds them until they are.
struct ChunkBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

}  // namespace trainyard::runtime
