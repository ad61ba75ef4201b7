// The arithmetic of one unit of a recurrent cell (ops/recurrence.h).
#pragma once

#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

TRAINYARD_BOTH inline float sigmoid_slope(float y) { return y * (1.0F - y); }
TRAINYARD_BOTH inline float tanh_slope(float y) { return 1.0F - y * y; }

// c of an lstm; `before` is the one of the step before.
TRAINYARD_BOTH inline float lstm_c(float i, float f, float g, float before) {
  return f * before + i * g;
}

// `carry` is what the next step says of c; `bounded` is tanh(c).
TRAINYARD_BOTH inline float lstm_c_gradient(float h_gradient, float o, float bounded, float carry) {
  return (h_gradient * o) * tanh_slope(bounded) + carry;
}

// Of the sum before a sigmoid or a tanh: what flows to y, which came out of it, is a * b.
TRAINYARD_BOTH inline float through_sigmoid(float a, float b, float y) {
  return (a * b) * sigmoid_slope(y);
}
TRAINYARD_BOTH inline float through_tanh(float a, float b, float y) {
  return (a * b) * tanh_slope(y);
}

TRAINYARD_BOTH inline float gru_h(float z, float n, float before) {
  return (1.0F - z) * n + z * before;
}

}  // namespace trainyard::runtime
