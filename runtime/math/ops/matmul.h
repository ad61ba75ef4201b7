// The product of a batch with a matrix, and its gradients. One thread per product; the bits of a
// result depend on shapes and values alone, neither on the host's caches nor on where the memory
// lies.
#pragma once

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// product [rows, out] = x [rows, in] * kernel [in, out] + bias [out]; a bias without data is none.
void matmul(ConstTensor x, ConstTensor kernel, ConstTensor bias, Tensor product);

// product [rows, out] = x [rows, in] * kernel [out, in]^T + bias [out]; a bias without data is
// none. The kernel's gradient is matmul_kernel_gradient of product_gradient and x.
void matmul_transposed(ConstTensor x, ConstTensor kernel, ConstTensor bias, Tensor product);

// x_gradient [rows, in] = product_gradient [rows, out] * kernel [out, in]
void matmul_transposed_x_gradient(ConstTensor product_gradient, ConstTensor kernel,
                                  Tensor x_gradient, Write write);

// x_gradient [rows, in] = product_gradient [rows, out] * kernel^T
void matmul_x_gradient(ConstTensor product_gradient, ConstTensor kernel, Tensor x_gradient,
                       Write write);

// kernel_gradient [in, out] = x^T * product_gradient [rows, out]
void matmul_kernel_gradient(ConstTensor x, ConstTensor product_gradient, Tensor kernel_gradient,
                            Write write);

}  // namespace trainyard::runtime
