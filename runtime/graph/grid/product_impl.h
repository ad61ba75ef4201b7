// The kernels of product.h.
#pragma once

#include <algorithm>
#include <utility>

#include "runtime/graph/grid/elements.h"
#include "runtime/graph/grid/gemm.h"
#include "runtime/graph/grid/product.h"
#include "runtime/graph/grid/product_fields.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// Matrices of a tensor's last two axes, as a product reads them.
struct MatricesOnGrid {
  const float* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  bool is_turned = false;  // they lie as [columns, rows]

  MatricesOnGrid(const float* from, const Shape& shape, bool lies_transposed)
      : data(from), rows(shape[shape.rank() - 2]), columns(shape.columns()) {
    if (lies_transposed) *this = turned();
  }

  [[nodiscard]] MatricesOnGrid turned() const {
    MatricesOnGrid result = *this;
    std::swap(result.rows, result.columns);
    result.is_turned = !is_turned;
    return result;
  }

  // As the left side of a product; turned, they are a right one.
  [[nodiscard]] Strided side() const {
    return {.data = data,
            .outer = is_turned ? 1 : columns,
            .along = is_turned ? rows : 1,
            .apart = rows * columns};
  }
};

// out [.., rows, columns] = left right, or that much more, matrix by matrix.
template <class Grid>
void multiply_matrices(Grid& grid, const MatricesOnGrid& left, const MatricesOnGrid& right,
                       Tensor out, Write write, Tensor scratch) {
  ENSURE(left.columns == right.rows);
  const std::int64_t each = left.rows * right.columns;
  multiply(grid,
           GridProduct<Strided, Strided>{.rows = left.rows,
                                         .columns = right.columns,
                                         .cuts = cuts_of(left.columns),
                                         .left = left.side(),
                                         .right = right.turned().side(),
                                         .out = out.data,
                                         .out_stride = right.columns,
                                         .write = write,
                                         .products = out.elements() / each,
                                         .out_apart = each},
           scratch);
}

template <class Grid>
Needs ProductOps<Grid>::needs(const MatrixProductOp& op, std::span<const Shape> inputs,
                              const Shape& output, const Grid& grid) {
  const std::int64_t rows = output[output.rank() - 2];
  const std::int64_t columns = output.columns();
  const std::int64_t depth = MatricesOnGrid(nullptr, inputs[0], op.lies.a).columns;
  const std::int64_t products = output.elements() / std::max<std::int64_t>(1, rows * columns);
  const auto lines = [](const Shape& shape) {
    return MatrixLines{shape[shape.rank() - 2], shape.columns()};
  };
  return {.scratch = std::max({library_scratch(grid, {rows, columns, depth, products},
                                               lines(inputs[0]), lines(inputs[1])),
                               gemm_scratch(rows, columns, cuts_of(depth).count(), products),
                               gemm_scratch(rows, depth, cuts_of(columns).count(), products),
                               gemm_scratch(depth, columns, cuts_of(rows).count(), products)})};
}

template <class Grid>
Needs ProductOps<Grid>::needs(const FactorizeOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs ProductOps<Grid>::needs(const PairwiseDotOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
void ProductOps<Grid>::forward(Grid& grid, const MatrixProductOp& op, const ForwardCall& call) {
  multiply_matrices(grid, MatricesOnGrid(call.inputs[0].data, call.inputs[0].shape, op.lies.a),
                    MatricesOnGrid(call.inputs[1].data, call.inputs[1].shape, op.lies.b),
                    call.output, Write::overwrite, call.scratch);
}

template <class Grid>
void ProductOps<Grid>::backward(Grid& grid, const MatrixProductOp& op, const BackwardCall& call) {
  const GradientTarget& a = call.input_gradients[0];
  const GradientTarget& b = call.input_gradients[1];
  const MatricesOnGrid left(call.inputs[0].data, call.inputs[0].shape, op.lies.a);
  const MatricesOnGrid right(call.inputs[1].data, call.inputs[1].shape, op.lies.b);
  const MatricesOnGrid upstream(call.output_gradient.data, call.output_gradient.shape, false);
  if (a.into.data != nullptr) {
    if (op.lies.a) {
      multiply_matrices(grid, right, upstream.turned(), a.into, a.write, call.scratch);
    } else {
      multiply_matrices(grid, upstream, right.turned(), a.into, a.write, call.scratch);
    }
  }
  if (b.into.data == nullptr) return;
  if (op.lies.b) {
    multiply_matrices(grid, upstream.turned(), left, b.into, b.write, call.scratch);
  } else {
    multiply_matrices(grid, left.turned(), upstream, b.into, b.write, call.scratch);
  }
}

template <class Grid>
void ProductOps<Grid>::forward(Grid& grid, const FactorizeOp&, const ForwardCall& call) {
  factorize_on(grid, call.inputs[0], call.output);
}

template <class Grid>
void ProductOps<Grid>::backward(Grid& grid, const FactorizeOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr) return;
  factorize_gradient_on(grid, call.inputs[0], call.output_gradient.data, x);
}

template <class Grid>
void ProductOps<Grid>::forward(Grid& grid, const PairwiseDotOp&, const ForwardCall& call) {
  pairwise_dot_on(grid, call.inputs[0], call.output);
}

template <class Grid>
void ProductOps<Grid>::backward(Grid& grid, const PairwiseDotOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr) return;
  pairwise_dot_gradient_on(grid, call.inputs[0], call.output_gradient.data, x);
}

}  // namespace trainyard::runtime
