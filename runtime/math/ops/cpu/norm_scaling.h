// What the norms share: scales and offsets that may be left out.
#pragma once

#include <cstdint>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

inline float scale_at(ConstTensor scale, std::int64_t channel) {
  return scale.data == nullptr ? 1.0F : scale.data[channel];
}

inline float offset_at(ConstTensor offset, std::int64_t channel) {
  return offset.data == nullptr ? 0.0F : offset.data[channel];
}

}  // namespace trainyard::runtime
