// A product of two matrices of floats, x [rows, in] by kernel [in, out], again and again: how fast
// a device is at it, or the threads of a CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/graph/device.h"
#include "runtime/math/aligned_buffer.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

struct ProductShape {
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

double flops_of(const ProductShape& shape);

class ProductRun {
 public:
  enum class Pass { forward, gradient_of_x, gradient_of_kernel };

  // On a device: throws DeviceFailed where it has too little memory.
  ProductRun(Device& device, const ProductShape& shape);
  ProductRun(const Threads& threads, const ProductShape& shape);

  // Of each of so many in a row. What the device failed at is its failure().
  double seconds(Pass pass, int times);

 private:
  ProductRun(Device* device, const Kernels& kernels, const Threads& threads,
             const ProductShape& shape);
  std::shared_ptr<float> floats(std::int64_t count);
  void compute(Pass pass);
  void wait();

  Device* device_;  // null: the CPU
  const Kernels& kernels_;
  Threads threads_;
  Shape x_shape_;
  Shape kernel_shape_;
  Shape y_shape_;
  std::int64_t scratch_elements_;
  std::shared_ptr<float> x_, kernel_, y_, dx_, dkernel_, scratch_;
};

}  // namespace trainyard::runtime
