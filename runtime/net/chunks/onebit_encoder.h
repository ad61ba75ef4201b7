// Gradients as signs, chunk by chunk, and what that loses: runtime/math/wire/onebit for arenas that
// become final from their end to their beginning.
//
// Blocks lie by position in the arena, whatever chunk their elements are of: so what a gradient is
// decoded to depends neither on the number of ps nor on the size of chunks. A block that a border
// of chunks cuts is encoded whole, with the later of them: that one waits until its first block is
// final.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/core/arena_chunks.h"
#include "runtime/core/chunk_plan.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/net/wire_format.h"

namespace trainyard::runtime {

class OneBitEncoder {
 public:
  struct Shape {
    std::int64_t elements = 0;  // of the arena
    std::int64_t parts = 1;     // arenas
    // From there on elements are state, which is not encoded here and has no residual.
    std::int64_t state_begin = no_state;
    // Of the arena, ascending: elements of no variable, always zero in a gradient. They count in no
    // mean, and have no residual.
    std::vector<Range> gaps;
  };
  explicit OneBitEncoder(Shape shape);

  // Elements from here on have to be final before the range is encoded.
  [[nodiscard]] static std::int64_t final_from(const Range& range);

  // Of each part, the range's blocks but for one that goes on behind it: ranges are encoded from
  // the arena's end to its beginning. `gradients` and `encoded` are of all parts, one after
  // another. False: a number of them is none; their means say so, too.
  [[nodiscard]] bool encode(const Range& range, std::span<const float> gradients,
                            std::span<std::byte> encoded);

  // What is left over counts so many times as much in the next gradients as it did in those that it
  // was left over from.
  void set_residual_scale(float scale) { residual_scale_ = scale; }

  // What is left over of a range, of all parts one after another; nothing of state. It is not
  // encoded meanwhile.
  [[nodiscard]] std::int64_t residual_floats(const Range& range) const;
  void copy_residual(const Range& range, std::span<float> out);
  void restore_residual(const Range& range, std::span<const float> values);

 private:
  [[nodiscard]] std::span<float> residual(std::int64_t part);
  bool encode_block(std::int64_t part, std::int64_t block, std::span<const float> gradients,
                    std::span<std::byte> encoded);
  void clear_gaps(std::int64_t part, const Range& range);

  const Shape shape_;
  const std::int64_t elements_;       // that are encoded: before state
  const std::int64_t part_bytes_;     // of an encoded gradient
  std::vector<std::size_t> padding_;  // by block: elements in gaps
  AlignedBuffer residuals_;           // of each part, one after another
  float residual_scale_ = 1;
};

}  // namespace trainyard::runtime
