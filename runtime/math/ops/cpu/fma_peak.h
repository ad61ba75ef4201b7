// What one core of this processor can do at most: fused multiply-adds of floats that never leave
// its registers. Kernels are held against it.
#pragma once

#include "runtime/math/ops/cpu/gemm.h"

namespace trainyard::runtime {

// Operations of one run (a multiplication and an addition are two), about 50 us of work.
double run_fma_chains(GemmKernel kernel);

// Operations each second, the best of some runs: 3 ms on a core that is free. The clock may be
// lower later, when all cores work, so a product may seem to reach a little less or more.
double measure_fma_peak(GemmKernel kernel = best_kernel());

}  // namespace trainyard::runtime
