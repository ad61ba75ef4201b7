// The grid of a GPU: each kernel is one launch on the device's stream. Only nvcc reads this.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "runtime/graph/cuda/cuda_status.h"
#include "runtime/graph/grid/libraries.h"
#include "runtime/graph/grid/team.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

// Half a warp.
class HalfWarpTeam {
 public:
  __device__ HalfWarpTeam()
      : lane_(threadIdx.x % team_lanes), mask_(0xFFFFU << (threadIdx.x % 32 / 16 * 16)) {}

  template <class Function>
  __device__ void each(std::int64_t count, const Function& function) const {
    for (std::int64_t i = lane_; i < count; i += team_lanes) function(i);
  }

  template <class Number, class ValueOf, class Combine>
  __device__ Number fold(std::int64_t count, Number start, const ValueOf& value_of,
                         const Combine& combine) const {
    Number value = start;
    for (std::int64_t i = lane_; i < count; i += team_lanes) value = combine(value, value_of(i));
#pragma unroll
    for (int width = team_lanes / 2; width > 0; width /= 2) {
      const Number other = __shfl_down_sync(mask_, value, width, team_lanes);
      if (lane_ < width) value = combine(value, other);
    }
    return __shfl_sync(mask_, value, 0, team_lanes);
  }

  template <class ValueOf>
  __device__ float sum(std::int64_t count, const ValueOf& value_of) const {
    return fold(count, 0.0F, value_of, [](float a, float b) { return a + b; });
  }

  [[nodiscard]] __device__ bool is_first() const { return lane_ == 0; }
  __device__ void wait() const { __syncwarp(mask_); }

 private:
  int lane_;
  unsigned mask_;
};

// On the host the same function is compiled, and never called.
class CudaTeam {
 public:
  template <class Function>
  TRAINYARD_BOTH void each(std::int64_t count, const Function& function) const {
#ifdef __CUDA_ARCH__
    HalfWarpTeam().each(count, function);
#endif
  }
  template <class Number, class ValueOf, class Combine>
  TRAINYARD_BOTH Number fold(std::int64_t count, Number start, const ValueOf& value_of,
                             const Combine& combine) const {
#ifdef __CUDA_ARCH__
    return HalfWarpTeam().fold(count, start, value_of, combine);
#else
    return start;
#endif
  }
  template <class ValueOf>
  TRAINYARD_BOTH float sum(std::int64_t count, const ValueOf& value_of) const {
#ifdef __CUDA_ARCH__
    return HalfWarpTeam().sum(count, value_of);
#else
    return 0.0F;
#endif
  }
  [[nodiscard]] TRAINYARD_BOTH bool is_first() const {
#ifdef __CUDA_ARCH__
    return HalfWarpTeam().is_first();
#else
    return false;
#endif
  }
  TRAINYARD_BOTH void wait() const {
#ifdef __CUDA_ARCH__
    HalfWarpTeam().wait();
#endif
  }
};

template <class Kernel>
__global__ void __launch_bounds__(256) each_kernel(std::int64_t count, const Kernel kernel) {
  const std::int64_t all = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += all) {
    kernel(i);
  }
}

template <class Kernel>
__global__ void __launch_bounds__(256) teams_kernel(std::int64_t count, const Kernel kernel) {
  const std::int64_t teams = std::int64_t{gridDim.x} * (blockDim.x / team_lanes);
  const std::int64_t first =
      std::int64_t{blockIdx.x} * (blockDim.x / team_lanes) + threadIdx.x / team_lanes;
  for (std::int64_t i = first; i < count; i += teams) kernel(i, CudaTeam{});
}

// Blocks of a kernel that a processor of the GPU is to have room for at once.
template <class Kernel>
constexpr int blocks_at_once() {
  if constexpr (requires { Kernel::blocks_at_once; }) {
    return Kernel::blocks_at_once;
  } else {
    return 1;
  }
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, blocks_at_once<Kernel>())
    blocks_kernel(const Kernel kernel) {
  __shared__ typename Kernel::Shared shared;
  typename Kernel::Thread kept;
  const std::int64_t block = blockIdx.x;
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t steps = kernel.steps(block);
  for (std::int64_t n = 0; n < steps; ++n) {
    kernel.step(block, n, thread, shared, kept);
    __syncthreads();
  }
}

class CudaGrid {
 public:
  using Team = CudaTeam;

  CudaGrid(cudaStream_t stream, CudaStatus* status, Precision precision, Libraries libraries)
      : stream_(stream), status_(status), precision_(precision), libraries_(libraries) {}

  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] const Libraries& libraries() const { return libraries_; }

  template <class Kernel>
  void each(std::int64_t count, const Kernel& kernel) {
    if (count <= 0) return;
    each_kernel<<<blocks_for(count, threads), threads, 0, stream_>>>(count, kernel);
    status_->is_good(cudaGetLastError(), "a kernel's launch");
  }

  template <class Kernel>
  void teams(std::int64_t count, const Kernel& kernel) {
    if (count <= 0) return;
    const unsigned blocks = blocks_for(count, threads / team_lanes);
    teams_kernel<<<blocks, threads, 0, stream_>>>(count, kernel);
    status_->is_good(cudaGetLastError(), "a kernel's launch");
  }

  template <class Kernel>
  void blocks(std::int64_t count, const Kernel& kernel) {
    if (count <= 0) return;
    blocks_kernel<<<static_cast<unsigned>(count), Kernel::threads, 0, stream_>>>(kernel);
    status_->is_good(cudaGetLastError(), "a kernel's launch");
  }

 private:
  static constexpr int threads = 256;

  static unsigned blocks_for(std::int64_t count, std::int64_t each) {
    constexpr std::int64_t blocks_max = 132 * 64;  // the rest in turn
    const std::int64_t blocks = (count + each - 1) / each;
    return static_cast<unsigned>(blocks < blocks_max ? blocks : blocks_max);
  }

  cudaStream_t stream_;
  CudaStatus* status_;
  Precision precision_;
  Libraries libraries_;
};

}  // namespace trainyard::runtime
