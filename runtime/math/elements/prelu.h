// The arithmetic of a rectifier with a learned slope.
#pragma once

#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

TRAINYARD_BOTH inline float prelu_of(float x, float slope) { return x > 0.0F ? x : slope * x; }

TRAINYARD_BOTH inline float prelu_x_gradient(float x, float slope, float upstream) {
  return x > 0.0F ? upstream : slope * upstream;
}

// What one element adds to the slope's.
TRAINYARD_BOTH inline float prelu_slope_gradient(float x, float upstream) {
  return x > 0.0F ? 0.0F : x * upstream;
}

}  // namespace trainyard::runtime
