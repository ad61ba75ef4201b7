// How gradients lie on the wire, by training.wire: in a worker's memory as a whole arena, and of
// that the runs that make a ps' share. Encodings are laid out by position in the arena, never by
// share, so that what an element is decoded to does not depend on the number of ps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/arena_chunks.h"
#include "runtime/core/chunk_plan.h"
#include "runtime/core/reduction_tree.h"
#include "runtime/math/wire/onebit.h"
#include "runtime/net/payload.h"
#include "schemas/types/job_spec.h"

namespace trainyard::runtime {

// In an arena: the means, then the signs of all its elements.
constexpr std::int64_t onebit_block_elements = onebit_block;
constexpr std::int64_t onebit_block_bytes =
    2 * float_bytes + static_cast<std::int64_t>(onebit_sign_bytes(onebit_block));

// Bytes of one gradient of a share.
std::int64_t gradient_bytes(Wire wire, const Share& share);

// How the gradients of an arena are encoded: state, which begins at a border of chunks' blocks,
// behind the rest and as float32 always, for a running average adds up what is lost of it.
struct ArenaEncoding {
  Wire wire = Wire::float32;
  std::int64_t elements = 0;  // of the arena
  std::int64_t state_begin = no_state;

  [[nodiscard]] std::int64_t state_elements() const {
    return elements - std::min(elements, state_begin);
  }
};

// The wire of a chunk, which lies on one side of where state begins.
constexpr Wire wire_of_chunk(Wire wire, const Range& chunk, std::int64_t state_begin) {
  return chunk.begin < state_begin ? wire : Wire::float32;
}

// Bytes of one gradient of a whole arena, of which a share's payload is made.
std::int64_t encoded_bytes(const ArenaEncoding& arena);

// Of those, where an element is; of onebit, state alone has such a place.
std::int64_t encoded_begin(const ArenaEncoding& arena, std::int64_t element);

// Of `parts` such gradients that lie one after another, the pieces of each that make a share, whose
// ranges each lie on one side of where state begins. With onebit ranges begin at a multiple of 8,
// and of a block that a border cuts both sides have the means.
std::vector<std::span<const std::byte>> encoded_pieces(const ArenaEncoding& arena,
                                                       std::span<const std::byte> encoded,
                                                       const Share& share, std::int64_t parts);

// The nodes of the reduction tree whose sums a worker sends that has computed the leaves `owned`.
// What loses bits on the way goes leaf by leaf: how much is lost must not depend on who computes.
std::vector<Leaves> sent_nodes(Wire wire, Leaves owned, std::int64_t leaves);

// Walks one gradient of a share once, from its first element to its last, decoding it.
class GradientReader {
 public:
  // The gradient begins at byte `begin` of the payload, the reader at element `first` of the share:
  // with onebit a multiple of 8. Both outlive the reader.
  GradientReader(Wire wire, const Share& share, const Payload& payload, std::int64_t begin = 0,
                 std::int64_t first = 0);

  // The next out.size() elements; with onebit a multiple of 8, but for the last of the arena.
  void read(std::span<float> out);
  // The same; where they lie as floats one after another, `room` is not written but they are shown
  // there.
  std::span<const float> view(std::span<float> room);

 private:
  void seek_onebit(const Payload& payload, std::int64_t begin, std::int64_t first);
  void read_bfloat16(std::span<float> out);
  void read_onebit(std::span<float> out);
  void read_means();

  Wire wire_;
  const Share* share_;
  PayloadReader bytes_;
  std::size_t range_ = 0;   // onebit: where it is
  std::int64_t at_ = -1;    // element of the arena; -1: the range is not entered yet
  OneBitMeans means_ = {};  // of the block it is in
};

}  // namespace trainyard::runtime
