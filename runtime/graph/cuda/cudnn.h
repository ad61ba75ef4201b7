// cuDNN's convolutions, where this host has it: opened by a task that computes in tf32 or bfloat16.
// Only algorithms that cuDNN calls deterministic, chosen by its tables and not by the clock.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "runtime/graph/cuda/cuda_status.h"
#include "runtime/graph/grid/conv_library.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

struct OpenedConvolutions {
  std::unique_ptr<ConvLibrary> library;  // null: the host has none
  std::string name;                      // "cuDNN 9.19.0 of CUDA 13.0"; "": there is none
  std::string missing;                   // why
};

// It convolves on `stream`, and reports to `status`; both outlive it. In float32 there is none. One
// that is there and does not start is a failure.
OpenedConvolutions open_cudnn(cudaStream_t stream, CudaStatus& status, Precision precision);

}  // namespace trainyard::runtime
