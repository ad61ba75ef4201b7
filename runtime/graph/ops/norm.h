// Normalisations of [.., channels]: y = (x - mean) / sqrt(variance + epsilon) * scale + offset.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Which of the inputs scale [channels] and offset [channels] there are, in this order behind x.
struct NormInputs {
  bool scale = true;
  bool offset = true;
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(scale) + static_cast<std::size_t>(offset);
  }
};

// Each channel over the examples and all places. Inputs: x, perhaps scale, perhaps offset, mean
// [channels], variance [channels]: the last two are state, running averages. In training x is
// normalised by what it is itself in this batch, and where a gradient of the state would stand
// there is examples * mean and examples * unbiased variance; in evaluation x is normalised by the
// state.
struct BatchNormOp {
  double epsilon = 1e-5;
  NormInputs has{};
};

// Each place over its channels. Inputs: x, perhaps scale, perhaps offset.
struct LayerNormOp {
  double epsilon = 1e-5;
  NormInputs has{};
};

// The same with 0 for the mean. Inputs: x, perhaps scale; has.offset is false.
struct RmsNormOp {
  double epsilon = 1e-5;
  NormInputs has{.scale = true, .offset = false};
};

// The channels of each group together, over all places. Inputs: x, perhaps scale, perhaps offset.
struct GroupNormOp {
  std::int64_t groups = 1;  // divides the channels
  double epsilon = 1e-5;
  NormInputs has{};
};

OpTraits traits_of(const BatchNormOp& op);
OpTraits traits_of(const LayerNormOp& op);
OpTraits traits_of(const RmsNormOp& op);
OpTraits traits_of(const GroupNormOp& op);

Shape shape_of(const BatchNormOp& op, std::span<const Shape> inputs);
Shape shape_of(const LayerNormOp& op, std::span<const Shape> inputs);
Shape shape_of(const RmsNormOp& op, std::span<const Shape> inputs);
Shape shape_of(const GroupNormOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
