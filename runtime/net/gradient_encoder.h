// A worker's gradients as they leave it where the wire is not float32: encoded from the arena into
// memory from which the network sends, or a ps of this host reads; and with onebit what the
// encoding has lost so far.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/net/wire_format.h"

namespace trainyard::runtime {

class GradientEncoder {
 public:
  struct Shape {
    Wire wire = Wire::bfloat16;
    std::int64_t arena_elements = 0;
    std::int64_t parts = 1;  // gradients in a push
    std::vector<Range> gaps =
        {};  // of the arena: elements of no variable, always zero in a gradient
  };

  // `memory` has push_memory_floats() zeros.
  GradientEncoder(Shape shape, AlignedBuffer memory);

  // Of each part one after another, finite. With onebit the residuals, of gradients whose worth in
  // an update was that of the next ones times `residual_scale`, are added first.
  void encode(std::span<const float> gradients, float residual_scale);

  // What goes to a ps; it must be sent before the next encode().
  [[nodiscard]] Payload payload(const Share& share, WithResiduals residuals) const;

  // Onebit: of the whole arena; a gap's is zero.
  [[nodiscard]] std::span<float> residual(std::int64_t part);

 private:
  void encode_part(std::int64_t part, std::span<const float> gradient, float residual_scale);

  Shape shape_;
  std::shared_ptr<AlignedBuffer> memory_;
  std::vector<std::size_t> padding_;  // onebit: by block of an arena, elements in gaps
};

}  // namespace trainyard::runtime
