// The rectifier whose slope below zero is learned (PReLU; He et al. 2015): y = x where x > 0, else
// slope * x, with one slope for each channel, the last axis.
#pragma once

#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

// x, y [.., channels], slope [channels]; y may be x where nothing needs x any more. NaN stays NaN.
void prelu(ConstTensor x, ConstTensor slope, Tensor y, const Threads& threads = {});

// x_gradient = y_gradient where x > 0, else slope * y_gradient; slope_gradient = the sum over rows
// of x * y_gradient where x is not above 0, in sum_rows' order. A gradient without data is not
// wanted.
struct PreluGradient {
  ConstTensor x;
  ConstTensor slope;
  ConstTensor y_gradient;
  Tensor x_gradient;  // may be y_gradient
  Write x_write = Write::overwrite;
  Tensor slope_gradient;  // overlaps nothing
  Write slope_write = Write::overwrite;
  Threads threads = {};
};
void prelu_gradient(const PreluGradient& call);

}  // namespace trainyard::runtime
