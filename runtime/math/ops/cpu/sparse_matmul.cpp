#include "runtime/math/ops/sparse_matmul.h"
#include "schemas/base/check.h"

#include <algorithm>

namespace trainyard::runtime {
namespace {

// to[i] += scale * from[i]; the two are apart.
void add_scaled(float scale, const float* from, float* to, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) to[i] += scale * from[i];
}

// Calls visit(row, column, value) for each element of x, row by row, with columns below `columns`.
template <class Visit>
void for_each_element(const SparseView& x, std::int64_t columns, Visit visit) {
  ENSURE(x.columns.size() == x.values.size());
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    const auto begin = static_cast<std::size_t>(x.offsets[static_cast<std::size_t>(row)]);
    const auto end = static_cast<std::size_t>(x.offsets[static_cast<std::size_t>(row) + 1]);
    ENSURE(begin <= end && end <= x.columns.size());
    for (std::size_t i = begin; i < end; ++i) {
      ENSURE(x.columns[i] >= 0 && x.columns[i] < columns);
      visit(row, x.columns[i], x.values[i]);
    }
  }
}

}  // namespace

void sparse_matmul(const SparseView& x, ConstTensor kernel, ConstTensor bias, Tensor product) {
  ENSURE(kernel.shape.rank() == 2);
  const std::int64_t out = kernel.shape[1];
  ENSURE(product.shape.rows() == x.rows() && product.shape.columns() == out);
  ENSURE(bias.data == nullptr || bias.elements() == out);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    float* const to = product.data + row * out;
    if (bias.data == nullptr) {
      std::fill_n(to, out, 0.0F);
    } else {
      std::copy_n(bias.data, out, to);
    }
  }
  for_each_element(x, kernel.shape[0], [&](std::int64_t row, std::int64_t column, float value) {
    add_scaled(value, kernel.data + column * out, product.data + row * out, out);
  });
}

void sparse_matmul_kernel_gradient(const SparseView& x, ConstTensor product_gradient,
                                   Tensor kernel_gradient, Write write) {
  ENSURE(kernel_gradient.shape.rank() == 2);
  const std::int64_t out = kernel_gradient.shape[1];
  ENSURE(product_gradient.shape.rows() == x.rows() && product_gradient.shape.columns() == out);
  if (write == Write::overwrite) std::ranges::fill(kernel_gradient.span(), 0.0F);
  for_each_element(x, kernel_gradient.shape[0],
                   [&](std::int64_t row, std::int64_t column, float value) {
                     add_scaled(value, product_gradient.data + row * out,
                                kernel_gradient.data + column * out, out);
                   });
}

}  // namespace trainyard::runtime
