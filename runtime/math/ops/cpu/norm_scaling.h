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

// Sums of some columns, to where somebody wants them.
inline void store_sums_of(const float* sums, std::int64_t first, std::int64_t count, Tensor to,
                          Write write) {
  if (to.data == nullptr) return;
  for (std::int64_t i = 0; i < count; ++i) {
    float& value = to.data[first + i];
    value = write == Write::add ? value + sums[i] : sums[i];
  }
}

}  // namespace trainyard::runtime
