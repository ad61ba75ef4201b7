// A gradient that leaves while it is computed: from its end on, for the last layer's gradient is
// final first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/net/payload.h"

namespace trainyard::runtime {

// Of a frame: more would not fit its header.
constexpr std::size_t tail_pieces_max = 128;

struct TailPiece {
  std::int64_t from = 0;  // it may leave when the elements of the arena from here on are final
  Payload payload;
};

// A ps' share of gradients that lie one after another, whole arenas each, of which the last is
// being computed. In the order in which they leave; each piece's bytes ascend, and the pieces from
// the last to the first are the payload. `cuts`: where the arena may be cut, ascending from 0. The
// last piece leaves when all is final, though the share may lack the arena's begin: who has sent
// all to a ps is taken to wait for its answer.
std::vector<TailPiece> tail_pieces(std::span<const float> gradients, std::int64_t arena_elements,
                                   const Share& share, std::span<const std::int64_t> cuts);

}  // namespace trainyard::runtime
