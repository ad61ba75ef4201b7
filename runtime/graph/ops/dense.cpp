#include "runtime/graph/ops/dense.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape matmul_shape(std::span<const Shape> inputs, bool has_transposed_kernel) {
  ENSURE(inputs.size() == 2 || inputs.size() == 3);
  const Shape& x = inputs[0];
  const Shape& kernel = inputs[1];
  ENSURE(kernel.rank() == 2 && x.rank() >= 1);
  ENSURE(x.columns() == kernel[has_transposed_kernel ? 1 : 0]);
  const std::int64_t out = kernel[has_transposed_kernel ? 0 : 1];
  if (inputs.size() == 3) ENSURE(inputs[2] == Shape({out}));
  Shape shape(x.sizes().first(x.rank() - 1));
  shape.append(out);
  return shape;
}

}  // namespace

OpTraits traits_of(const MatMulOp&) {
  return {.backward_reads_inputs = true, .has_gradients_apart = true};
}
OpTraits traits_of(const SparseMatMulOp&) { return {.has_gradients_apart = true}; }
OpTraits traits_of(const RowPoolOp&) { return {}; }
OpTraits traits_of(const RowLookupOp&) { return {}; }

Shape shape_of(const MatMulOp& op, std::span<const Shape> inputs) {
  return matmul_shape(inputs, op.has_transposed_kernel);
}
Shape shape_of(const SparseMatMulOp&, std::span<const Shape> inputs) {
  return matmul_shape(inputs, false);
}
Shape shape_of(const RowPoolOp& op, std::span<const Shape>) { return {op.columns}; }
Shape shape_of(const RowLookupOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1);
  Shape shape = inputs[0];
  shape.append(op.columns);
  return shape;
}

}  // namespace trainyard::runtime
