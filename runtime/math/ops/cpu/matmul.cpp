// Products as gemm takes them.
#include "runtime/math/ops/matmul.h"

#include "runtime/math/ops/cpu/gemm.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Operand as_it_lies(ConstTensor matrix) {
  return {.data = matrix.data, .row_stride = matrix.shape.columns(), .column_stride = 1};
}
Operand transposed(ConstTensor matrix) {
  return {.data = matrix.data, .row_stride = 1, .column_stride = matrix.shape.columns()};
}

}  // namespace

void matmul(ConstTensor x, ConstTensor kernel, ConstTensor bias, Tensor product,
            const Threads& threads) {
  ENSURE(x.shape.columns() == kernel.shape.rows());
  ENSURE(product.shape.rows() == x.shape.rows());
  ENSURE(product.shape.columns() == kernel.shape.columns());
  ENSURE(bias.data == nullptr || bias.elements() == kernel.shape.columns());
  gemm({.rows = x.shape.rows(),
        .columns = kernel.shape.columns(),
        .depth = x.shape.columns(),
        .left = as_it_lies(x),
        .right = as_it_lies(kernel),
        .bias = bias.data,
        .out = product.data,
        .threads = threads});
}

void matmul_transposed(ConstTensor x, ConstTensor kernel, ConstTensor bias, Tensor product,
                       const Threads& threads) {
  ENSURE(x.shape.columns() == kernel.shape.columns());
  ENSURE(product.shape.rows() == x.shape.rows());
  ENSURE(product.shape.columns() == kernel.shape.rows());
  ENSURE(bias.data == nullptr || bias.elements() == kernel.shape.rows());
  gemm({.rows = x.shape.rows(),
        .columns = kernel.shape.rows(),
        .depth = x.shape.columns(),
        .left = as_it_lies(x),
        .right = transposed(kernel),
        .bias = bias.data,
        .out = product.data,
        .threads = threads});
}

void matmul_transposed_x_gradient(ConstTensor product_gradient, ConstTensor kernel,
                                  Tensor x_gradient, Write write, const Threads& threads) {
  ENSURE(product_gradient.shape.columns() == kernel.shape.rows());
  ENSURE(x_gradient.shape.rows() == product_gradient.shape.rows());
  ENSURE(x_gradient.shape.columns() == kernel.shape.columns());
  gemm({.rows = product_gradient.shape.rows(),
        .columns = kernel.shape.columns(),
        .depth = kernel.shape.rows(),
        .left = as_it_lies(product_gradient),
        .right = as_it_lies(kernel),
        .out = x_gradient.data,
        .write = write,
        .threads = threads});
}

void matmul_x_gradient(ConstTensor product_gradient, ConstTensor kernel, Tensor x_gradient,
                       Write write, const Threads& threads) {
  ENSURE(product_gradient.shape.columns() == kernel.shape.columns());
  ENSURE(x_gradient.shape.rows() == product_gradient.shape.rows());
  ENSURE(x_gradient.shape.columns() == kernel.shape.rows());
  gemm({.rows = product_gradient.shape.rows(),
        .columns = kernel.shape.rows(),
        .depth = kernel.shape.columns(),
        .left = as_it_lies(product_gradient),
        .right = transposed(kernel),
        .out = x_gradient.data,
        .write = write,
        .threads = threads});
}

void matmul_kernel_gradient(ConstTensor x, ConstTensor product_gradient, Tensor kernel_gradient,
                            Write write, const Threads& threads) {
  matmul_kernel_gradient_rows(x, product_gradient, kernel_gradient,
                              {.first = 0, .count = x.shape.columns()}, write, threads);
}

void matmul_kernel_gradient_rows(ConstTensor x, ConstTensor product_gradient,
                                 Tensor kernel_gradient, RowRange rows, Write write,
                                 const Threads& threads) {
  ENSURE(x.shape.rows() == product_gradient.shape.rows());
  ENSURE(kernel_gradient.shape.rows() == x.shape.columns());
  ENSURE(kernel_gradient.shape.columns() == product_gradient.shape.columns());
  ENSURE(rows.first >= 0 && rows.first + rows.count <= x.shape.columns());
  Operand left = transposed(x);
  left.data += rows.first;
  gemm({.rows = rows.count,
        .columns = product_gradient.shape.columns(),
        .depth = x.shape.rows(),
        .left = left,
        .right = as_it_lies(product_gradient),
        .out = kernel_gradient.data + rows.first * kernel_gradient.shape.columns(),
        .write = write,
        .threads = threads});
}

}  // namespace trainyard::runtime
