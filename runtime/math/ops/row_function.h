// Functions of the rows of the last axis, each row for itself. Sums have sixteen lanes, as sum().
#pragma once

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// y = exp(x - largest) / sum of these; y may be x.
void softmax(ConstTensor x, Tensor y);
// x_gradient = y (y_gradient - sum of y y_gradient); x_gradient may be y_gradient.
void softmax_gradient(ConstTensor y, ConstTensor y_gradient, Tensor x_gradient, Write write);

// y = (x - largest) - log(sum of exp(x - largest)); y may be x.
void log_softmax(ConstTensor x, Tensor y);
// x_gradient = y_gradient - exp(y) * sum of y_gradient; x_gradient may be y_gradient.
void log_softmax_gradient(ConstTensor y, ConstTensor y_gradient, Tensor x_gradient, Write write);

inline constexpr float l2_norm_least = 1e-12F;
// y = x / max(norm, l2_norm_least), norms [rows] = the square root of the sum of squares; y may be
// x.
void l2_normalize(ConstTensor x, Tensor y, Tensor norms);
// x_gradient may be y_gradient.
struct L2NormalizeGradient {
  ConstTensor x;
  ConstTensor norms;
  ConstTensor y_gradient;
  Tensor x_gradient;
  Write write = Write::overwrite;
};
void l2_normalize_gradient(const L2NormalizeGradient& call);

}  // namespace trainyard::runtime
