#include "runtime/graph/ops/dense.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape matmul_shape(std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2 || inputs.size() == 3);
  const Shape& x = inputs[0];
  const Shape& kernel = inputs[1];
  ENSURE(kernel.rank() == 2 && x.rank() >= 1 && x.columns() == kernel[0]);
  if (inputs.size() == 3) ENSURE(inputs[2] == Shape({kernel[1]}));
  Shape shape(x.sizes().first(x.rank() - 1));
  shape.append(kernel[1]);
  return shape;
}

}  // namespace

OpTraits traits_of(const MatMulOp&) {
  return {.backward_reads_inputs = true, .has_gradients_apart = true};
}
OpTraits traits_of(const SparseMatMulOp&) { return {.has_gradients_apart = true}; }
OpTraits traits_of(const RowPoolOp&) { return {}; }

Shape shape_of(const MatMulOp&, std::span<const Shape> inputs) { return matmul_shape(inputs); }
Shape shape_of(const SparseMatMulOp&, std::span<const Shape> inputs) {
  return matmul_shape(inputs);
}
Shape shape_of(const RowPoolOp& op, std::span<const Shape>) { return {op.columns}; }

}  // namespace trainyard::runtime
