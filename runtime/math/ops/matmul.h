// The product of a batch with a matrix, and its gradients. The bits of a result depend on shapes
// and values alone, neither on the number of threads nor on the host's caches nor on where the
// memory lies.
#pragma once

#include <cstdint>
#include <functional>

#include "runtime/math/tensor.h"
#include "runtime/math/thread_team.h"

namespace trainyard::runtime {

// product [rows, out] = x [rows, in] * kernel [in, out] + bias [out]; a bias without data is none.
void matmul(ConstTensor x, ConstTensor kernel, ConstTensor bias, Tensor product,
            const Threads& threads = {});

// product [rows, out] = x [rows, in] * kernel [out, in]^T + bias [out]; a bias without data is
// none. The kernel's gradient is matmul_kernel_gradient of product_gradient and x.
void matmul_transposed(ConstTensor x, ConstTensor kernel, ConstTensor bias, Tensor product,
                       const Threads& threads = {});

// x_gradient [rows, in] = product_gradient [rows, out] * kernel [out, in]
void matmul_transposed_x_gradient(ConstTensor product_gradient, ConstTensor kernel,
                                  Tensor x_gradient, Write write, const Threads& threads = {});

// x_gradient [rows, in] = product_gradient [rows, out] * kernel^T
void matmul_x_gradient(ConstTensor product_gradient, ConstTensor kernel, Tensor x_gradient,
                       Write write, const Threads& threads = {});

// kernel_gradient [in, out] = x^T * product_gradient [rows, out]
void matmul_kernel_gradient(ConstTensor x, ConstTensor product_gradient, Tensor kernel_gradient,
                            Write write, const Threads& threads = {});

// The same, with the same bits, from the last rows to the first, `rows_at_once` (1 or more) at a
// time. `made_from` is told the first of them each time, but for row 0.
void matmul_kernel_gradient_by_parts(ConstTensor x, ConstTensor product_gradient,
                                     Tensor kernel_gradient, Write write, std::int64_t rows_at_once,
                                     const std::function<void(std::int64_t)>& made_from,
                                     const Threads& threads = {});

}  // namespace trainyard::runtime
