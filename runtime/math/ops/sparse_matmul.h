// The product of sparse rows with a dense matrix, and the matrix's gradient. Work and memory go
// with the elements that are there, but for the gradient, which is as large as the matrix. Elements
// are added in the order of their rows, from left to right: the same bits everywhere.
#pragma once

#include "runtime/math/sparse_rows.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// product [rows, out] = x [rows, in] * kernel [in, out] + bias [out]; a bias without data is none.
// A column of x beyond `in` is the caller's mistake.
void sparse_matmul(const SparseView& x, ConstTensor kernel, ConstTensor bias, Tensor product);

// kernel_gradient [in, out] = x^T * product_gradient [rows, out]
void sparse_matmul_kernel_gradient(const SparseView& x, ConstTensor product_gradient,
                                   Tensor kernel_gradient, Write write);

}  // namespace trainyard::runtime
