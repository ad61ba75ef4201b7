#include "runtime/math/ops/matrix_product.h"

#include <utility>

#include "runtime/math/ops/cpu/gemm.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// The matrices of a tensor's last two axes, as a product reads them.
struct Matrices {
  const float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool is_turned = false;  // they lie as [columns, rows]

  Matrices(ConstTensor tensor, bool lies_transposed) : data(tensor.data) {
    ENSURE(tensor.shape.rank() >= 2);
    rows = tensor.shape[tensor.shape.rank() - 2];
    columns = tensor.shape.columns();
    if (lies_transposed) *this = turned();
  }

  [[nodiscard]] Matrices turned() const {
    Matrices result = *this;
    std::swap(result.rows, result.columns);
    result.is_turned = !is_turned;
    return result;
  }

  [[nodiscard]] Operand operator[](std::int64_t index) const {
    const float* const at = data + index * rows * columns;
    if (is_turned) return {.data = at, .row_stride = 1, .column_stride = rows};
    return {.data = at, .row_stride = columns, .column_stride = 1};
  }
};

struct ProductPlace {
  Tensor out;
  Write write = Write::overwrite;
  const Threads& threads;
};

// out [.., rows, columns] = left right, matrix by matrix. A single one is divided as a product is.
void multiply_all(const Matrices& left, const Matrices& right, const ProductPlace& to) {
  const std::int64_t each = left.rows * right.columns;
  ENSURE(left.columns == right.rows && each > 0 && to.out.elements() % each == 0);
  ENSURE(to.out.shape.columns() == right.columns);
  const std::int64_t count = to.out.elements() / each;
  const auto multiply = [&](std::int64_t i, const Threads& threads) {
    gemm({.rows = left.rows,
          .columns = right.columns,
          .depth = left.columns,
          .left = left[i],
          .right = right[i],
          .out = to.out.data + i * each,
          .write = to.write,
          .threads = threads});
  };
  if (count == 1) return multiply(0, to.threads);
  const double work = gemm_nanoseconds(static_cast<double>(each * left.columns));
  to.threads.split({.count = count, .nanoseconds_each = work}, [&](const Part& part) {
    for (std::int64_t i = part.begin; i < part.end; ++i) multiply(i, {});
  });
}

}  // namespace

void matrix_product(Transposed lies, ConstTensor a, ConstTensor b, Tensor y,
                    const Threads& threads) {
  multiply_all({a, lies.a}, {b, lies.b}, {y, Write::overwrite, threads});
}

void matrix_product_a_gradient(Transposed lies, ConstTensor b, ConstTensor y_gradient,
                               Tensor a_gradient, Write write, const Threads& threads) {
  const Matrices right(b, lies.b);
  const Matrices upstream(y_gradient, false);
  if (lies.a) return multiply_all(right, upstream.turned(), {a_gradient, write, threads});
  multiply_all(upstream, right.turned(), {a_gradient, write, threads});
}

void matrix_product_b_gradient(Transposed lies, ConstTensor a, ConstTensor y_gradient,
                               Tensor b_gradient, Write write, const Threads& threads) {
  const Matrices left(a, lies.a);
  const Matrices upstream(y_gradient, false);
  if (lies.b) return multiply_all(upstream.turned(), left, {b_gradient, write, threads});
  multiply_all(left.turned(), upstream, {b_gradient, write, threads});
}

}  // namespace trainyard::runtime
