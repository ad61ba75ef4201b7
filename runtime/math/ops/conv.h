// Convolutions of images [examples, height, width, channels] with kernels [kernel height, kernel
// width, channels, filters], and their gradients. Nothing is allocated: scratch is the caller's.
//
// The bits are those of a product (matmul.h) of the matrix im2col(x), whose row of an output pixel
// has its taps in the order (kernel row, kernel column, channel), with the kernel as a matrix:
// chains of fused multiply-adds over blocks of the depth, the blocks added in order.
//  * x's gradient: the same of the output's gradient (its pixels `stride` apart, zeros between)
//    and the flipped kernel, depth (kernel row, kernel column, filter).
//  * The kernel's: depth (example, output row, output column). A block is whole output rows of one
//    example, evenly divided, of at most 320 pixels; a row that is longer is cut as a product's
//    depth is. So the bits of a batch are those of its parts, one added after another.
//  * Rows of padding, and zeros between strides, are left out; in columns of padding zeros are
//    multiplied. For finite values that is the same but for the sign of a zero.
// The bits depend neither on the processor nor on the number of threads nor on where the memory
// lies.
#pragma once

#include <cstddef>
#include <span>

#include "runtime/math/ops/finish.h"
#include "runtime/math/ops/window.h"
#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

struct Conv2d {
  Window window;
  std::int64_t channels = 1;  // of x
  std::int64_t filters = 1;   // of y

  [[nodiscard]] constexpr std::int64_t depth() const { return window.taps() * channels; }
};

enum class ConvPass { forward, x_gradient, kernel_gradient };

// Bytes of scratch that a pass needs, whatever the number of examples: for each thread some 300 KiB
// of image (more where a few rows of it are larger), and for a kernel's gradient a MiB of the
// output's and a slice of the kernel's; a copy of the kernel, tables.
std::size_t conv2d_scratch_bytes(const Conv2d& conv, ConvPass pass, std::int64_t threads = 1);

struct ConvForward {
  ConstTensor x;       // [examples, height, width, channels]
  ConstTensor kernel;  // [kernel height, kernel width, channels, filters]
  ConstTensor bias;    // [filters]; without data: none
  Finish finish = Finish::as_it_is;
  Tensor y;  // [examples, output height, output width, filters]; overlaps nothing
  Threads threads = {};
};
void conv2d(const Conv2d& conv, const ConvForward& call, std::span<std::byte> scratch);

struct ConvXGradient {
  ConstTensor y_gradient;
  ConstTensor kernel;
  Tensor x_gradient;
  Write write = Write::overwrite;
  Threads threads = {};
};
void conv2d_x_gradient(const Conv2d& conv, const ConvXGradient& call, std::span<std::byte> scratch);

struct ConvKernelGradient {
  ConstTensor x;
  ConstTensor y_gradient;
  Tensor kernel_gradient;
  Write write = Write::overwrite;
  Threads threads = {};
};
void conv2d_kernel_gradient(const Conv2d& conv, const ConvKernelGradient& call,
                            std::span<std::byte> scratch);

// bias_gradient [filters] = the sum of y_gradient over examples and pixels, as sum_rows adds.
void conv2d_bias_gradient(ConstTensor y_gradient, Tensor bias_gradient, Write write,
                          const Threads& threads = {});

}  // namespace trainyard::runtime
