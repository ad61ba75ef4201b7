// The arithmetic of a normalised element.
#pragma once

#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

// inverse = 1 / sqrt(variance + epsilon)
TRAINYARD_BOTH inline float xhat_of(float x, float mean, float inverse) {
  return (x - mean) * inverse;
}

// Batch norm's y; factor = inverse * scale.
TRAINYARD_BOTH inline float batch_normalized(float x, float mean, float factor, float offset) {
  return (x - mean) * factor + offset;
}

TRAINYARD_BOTH inline float scaled(float xhat, float scale, float offset) {
  return xhat * scale + offset;
}

// How x's gradient depends on its own element and on the means over those that share its mean and
// variance: of the gradient, and of the gradient times xhat. `factor` is batch norm's, where the
// scale is taken out of the means, or `inverse`.
TRAINYARD_BOTH inline float norm_x_gradient(float factor, float gradient, float gradient_mean,
                                            float xhat, float xhat_mean) {
  return factor * ((gradient - gradient_mean) - xhat * xhat_mean);
}

TRAINYARD_BOTH inline float relu_of(float value) { return value < 0.0F ? 0.0F : value; }

}  // namespace trainyard::runtime
