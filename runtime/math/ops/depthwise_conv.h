// Convolutions of each channel by itself, with kernels [kernel height, kernel width, channels,
// multiplier] over images [examples, height, width, channels]; the multiplier's outputs of one
// channel lie beside one another. Sums are chains of fused multiply-adds, those of one output over
// taps in the order (kernel row, kernel column); padding is left out.
#pragma once

#include "runtime/math/ops/finish.h"
#include "runtime/math/ops/window.h"
#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

struct DepthwiseForward {
  ConstTensor x;
  ConstTensor kernel;
  ConstTensor bias;  // [channels * multiplier], added to the sum; without data: none
  Finish finish = Finish::as_it_is;
  Tensor y;  // [examples, output height, output width, channels * multiplier]
};
void depthwise_conv2d(const Window& window, const DepthwiseForward& call);

struct DepthwiseXGradient {
  ConstTensor y_gradient;
  ConstTensor kernel;
  Tensor x_gradient;
  Write write = Write::overwrite;
};
// A pixel's chain goes up the outputs that read it, as if by the flipped kernel, at each over the
// multiplier's.
void depthwise_conv2d_x_gradient(const Window& window, const DepthwiseXGradient& call);

struct DepthwiseKernelGradient {
  ConstTensor x;
  ConstTensor y_gradient;
  Tensor kernel_gradient;
  Write write = Write::overwrite;
  Threads threads = {};  // share the channels
};
// A chain for each output row; these are added in the order (example, output row).
void depthwise_conv2d_kernel_gradient(const Window& window, const DepthwiseKernelGradient& call);

}  // namespace trainyard::runtime
