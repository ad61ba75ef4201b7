// What the norms on a grid share.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/row_sums.h"
#include "runtime/graph/kernels.h"
#include "runtime/math/elements/norm.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// Of a call's inputs.
inline std::size_t place_of_offset(const NormInputs& has) { return has.scale ? 2 : 1; }
inline std::size_t place_of_mean(const NormInputs& has) { return 1 + has.count(); }

// Scale and offset of a channel; null: 1 and 0.
struct NormScaling {
  const float* scale;
  const float* offset;

  [[nodiscard]] TRAINYARD_BOTH float scale_at(std::int64_t channel) const {
    return scale == nullptr ? 1.0F : scale[channel];
  }
  [[nodiscard]] TRAINYARD_BOTH float offset_at(std::int64_t channel) const {
    return offset == nullptr ? 0.0F : offset[channel];
  }
};

inline NormScaling norm_scaling(const NormInputs& has, std::span<const ConstTensor> inputs) {
  return {.scale = has.scale ? inputs[1].data : nullptr,
          .offset = has.offset ? inputs[place_of_offset(has)].data : nullptr};
}

// Where their gradients go; null: not wanted.
struct NormScalingGradients {
  float* scale;
  float* offset;
  Write write;

  [[nodiscard]] bool are_wanted() const { return scale != nullptr || offset != nullptr; }

  // Of the sums over all that a channel scales: of dy, and of dy * xhat.
  TRAINYARD_BOTH void store(std::int64_t channel, float dy_sum, float xhat_sum) const {
    if (offset != nullptr) put(offset[channel], dy_sum, write);
    if (scale != nullptr) put(scale[channel], xhat_sum, write);
  }
};

inline NormScalingGradients norm_scaling_gradients(const NormInputs& has,
                                                   std::span<const GradientTarget> targets) {
  const GradientTarget scale = has.scale ? targets[1] : GradientTarget{};
  const GradientTarget offset = has.offset ? targets[place_of_offset(has)] : GradientTarget{};
  const bool has_both = scale.into.data != nullptr && offset.into.data != nullptr;
  ENSURE(!has_both || scale.write == offset.write);  // a layer is shared as a whole
  return {.scale = scale.into.data,
          .offset = offset.into.data,
          .write = scale.into.data != nullptr ? scale.write : offset.write};
}

template <class Grid>
void store_scaling_gradients(Grid& grid, std::int64_t channels, const float* dy_sums,
                             const float* xhat_sums, NormScalingGradients into) {
  grid.each(channels, [=] TRAINYARD_KERNEL(std::int64_t channel) {
    into.store(channel, dy_sums[channel], xhat_sums[channel]);
  });
}

// Scratch that is cut from its beginning.
class NormRoom {
 public:
  explicit NormRoom(const Tensor& scratch) : left_(scratch) {}

  float* take(std::int64_t elements) {
    ENSURE(left_.elements() >= elements);
    float* const taken = left_.data;
    left_ = {left_.data + elements, {left_.elements() - elements}};
    return taken;
  }
  [[nodiscard]] Tensor rest() const { return left_; }

 private:
  Tensor left_;
};

}  // namespace trainyard::runtime
