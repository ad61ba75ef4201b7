// Convolutions by the instructions of one's choice: the bits are the same.
#pragma once

#include "runtime/math/ops/conv.h"
#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/ops/scratch.h"

namespace trainyard::runtime {

void conv2d(const Conv2d& conv, const ConvForward& call, Scratch scratch, GemmKernel kernel);
void conv2d_x_gradient(const Conv2d& conv, const ConvXGradient& call, Scratch scratch,
                       GemmKernel kernel);
void conv2d_kernel_gradient(const Conv2d& conv, const ConvKernelGradient& call, Scratch scratch,
                            GemmKernel kernel);
std::size_t kernel_gradient_scratch_bytes(const Conv2d& conv, std::int64_t threads);

}  // namespace trainyard::runtime
