// The pieces in which an arena travels: a pure function of the shares, so that every task cuts it
// for itself.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "runtime/core/chunk_plan.h"

namespace trainyard::runtime {

// Borders of chunks lie where those of onebit's blocks do, or where the shares' do: a block that a
// share's border cuts is of two chunks.
constexpr std::int64_t chunk_block = 1024;

// Behind all elements: the arena has no state.
constexpr std::int64_t no_state = std::numeric_limits<std::int64_t>::max();

struct ArenaChunk {
  Range range;
  std::int64_t holder = 0;  // the ps (all-reduce: the worker) whose share it is of
  bool operator==(const ArenaChunk&) const = default;
};

// Together all of the arena, in its order; each has `elements_max` at most, a multiple of
// chunk_block. Empty shares have no chunk. From `state_begin` on elements are state, which travels
// by rules of its own: no chunk has elements of both sides.
std::vector<ArenaChunk> cut_chunks(std::span<const Share> shares, std::int64_t elements_max,
                                   std::int64_t state_begin = no_state);

// How many chunks have elements before this one.
std::int64_t count_before(std::span<const ArenaChunk> chunks, std::int64_t element);

// By holder, the indices of its chunks, ascending: the order in which a ps numbers them.
std::vector<std::vector<std::int64_t>> chunks_by_holder(std::span<const ArenaChunk> chunks,
                                                        std::int64_t holders);

}  // namespace trainyard::runtime
