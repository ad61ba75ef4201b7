// Elementwise nonlinearities and their gradients, written in terms of their outputs so that they
// work in place.
#pragma once

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

enum class Nonlinearity { relu, sigmoid, tanh };

// y = f(x), any shape; y may be x. NaN stays NaN.
void activate(Nonlinearity kind, ConstTensor x, Tensor y);

// x_gradient = y_gradient * f'(x), with f'(x) computed from y; x_gradient may be y_gradient.
void activate_gradient(Nonlinearity kind, ConstTensor y, ConstTensor y_gradient, Tensor x_gradient,
                       Write write);

}  // namespace trainyard::runtime
