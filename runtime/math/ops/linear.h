// Elementwise functions with numbers of their own: a straight line, and limits.
#pragma once

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// y = x * scale + shift, each rounded; y may be x.
struct Affine {
  float scale = 1;
  float shift = 0;
};
void affine(const Affine& by, ConstTensor x, Tensor y);
// x_gradient = y_gradient * scale; x_gradient may be y_gradient.
void affine_gradient(const Affine& by, ConstTensor y_gradient, Tensor x_gradient, Write write);

// y = the nearest number to x in [least, most]; NaN stays NaN; y may be x.
struct Limits {
  float least = -1;
  float most = 1;
};
void clip(const Limits& limits, ConstTensor x, Tensor y);
// x_gradient = y_gradient where x is within the limits or at one, else 0; x_gradient may be
// y_gradient.
void clip_gradient(const Limits& limits, ConstTensor x, ConstTensor y_gradient, Tensor x_gradient,
                   Write write);

}  // namespace trainyard::runtime
