// Products as gemm takes them.
#include "runtime/math/ops/matmul.h"

#include <algorithm>

#include "runtime/math/aligned_buffer.h"
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

Product kernel_gradient_product(ConstTensor x, ConstTensor product_gradient, Tensor kernel_gradient,
                                Write write, const Threads& threads) {
  ENSURE(x.shape.rows() == product_gradient.shape.rows());
  ENSURE(kernel_gradient.shape.rows() == x.shape.columns());
  ENSURE(kernel_gradient.shape.columns() == product_gradient.shape.columns());
  return {.rows = x.shape.columns(),
          .columns = product_gradient.shape.columns(),
          .depth = x.shape.rows(),
          .left = transposed(x),
          .right = as_it_lies(product_gradient),
          .out = kernel_gradient.data,
          .write = write,
          .threads = threads};
}

// The right side that all parts of a product share, packed once; for the thread's life 4 MiB are
// kept for it. Null where it would be larger, and where threads divide the parts: they divide
// packed columns not at all, and a part has few rows.
const float* packed_for_parts(const Product& product) {
  constexpr std::int64_t elements_max = 1 << 20;
  const std::int64_t elements = packed_right_elements(product.depth, product.columns);
  if (product.threads.count() > 1 || elements > elements_max) return nullptr;
  thread_local AlignedBuffer buffer(elements_max);
  pack_right(product, buffer.data());
  return buffer.data();
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
  gemm(kernel_gradient_product(x, product_gradient, kernel_gradient, write, threads));
}

void matmul_kernel_gradient_by_parts(ConstTensor x, ConstTensor product_gradient,
                                     Tensor kernel_gradient, Write write, std::int64_t rows_at_once,
                                     const std::function<void(std::int64_t)>& made_from,
                                     const Threads& threads) {
  ENSURE(rows_at_once > 0);
  const Product whole =
      kernel_gradient_product(x, product_gradient, kernel_gradient, write, threads);
  if (whole.rows <= rows_at_once) return gemm(whole);
  const float* const packed = packed_for_parts(whole);
  for (std::int64_t end = whole.rows; end > 0;) {
    const std::int64_t first = std::max<std::int64_t>(0, end - rows_at_once);
    Product part = whole;
    part.rows = end - first;
    part.left.data += first;
    part.out += first * whole.columns;
    part.packed_right = packed;
    gemm(part);
    if (first > 0) made_from(first);
    end = first;
  }
}

}  // namespace trainyard::runtime
