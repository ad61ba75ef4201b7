// cuBLASLt, where this host has it: it is opened by a task that computes in tf32 or bfloat16. One
// algorithm for each kind of product, asked for once, and a workspace of its own: so a kind of GPU
// and a version give the same bits each time (cuBLAS' manual, "Results Reproducibility").
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "runtime/graph/cuda/cuda_status.h"
#include "runtime/graph/grid/product_library.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

struct OpenedProducts {
  std::unique_ptr<ProductLibrary> library;  // null: the host has none
  std::string name;                         // "cuBLASLt 13.1.0"; "": there is none
  std::string missing;                      // why
};

// It multiplies on `stream`, and reports to `status`; both outlive it. In float32 there is none.
// One that is there and does not start is a failure: what computes may not depend on free memory.
OpenedProducts open_cublas_lt(cudaStream_t stream, CudaStatus& status, Precision precision);

}  // namespace trainyard::runtime
