#include "runtime/graph/ops/product.h"

#include <utility>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// The last two axes, the way the product reads them.
std::pair<std::int64_t, std::int64_t> matrix_of(const Shape& shape, bool lies_transposed) {
  ENSURE(shape.rank() >= 2);
  const std::int64_t rows = shape[shape.rank() - 2];
  const std::int64_t columns = shape.columns();
  return lies_transposed ? std::pair(columns, rows) : std::pair(rows, columns);
}

Shape fields_of(std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0].rank() == 2);
  return inputs[0];
}

}  // namespace

OpTraits traits_of(const MatrixProductOp&) { return {.backward_reads_inputs = true}; }

OpTraits traits_of(const FactorizeOp&) { return {.backward_reads_inputs = true}; }

OpTraits traits_of(const PairwiseDotOp&) { return {.backward_reads_inputs = true}; }

Shape shape_of(const MatrixProductOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2 && inputs[0].rank() == inputs[1].rank());
  const auto [rows, depth] = matrix_of(inputs[0], op.lies.a);
  const auto [other_depth, columns] = matrix_of(inputs[1], op.lies.b);
  ENSURE(depth == other_depth);
  Shape shape;
  for (std::size_t axis = 0; axis + 2 < inputs[0].rank(); ++axis) {
    ENSURE(inputs[0][axis] == inputs[1][axis]);
    shape.append(inputs[0][axis]);
  }
  shape.append(rows);
  shape.append(columns);
  return shape;
}

Shape shape_of(const FactorizeOp&, std::span<const Shape> inputs) {
  fields_of(inputs);
  return {1};
}

Shape shape_of(const PairwiseDotOp&, std::span<const Shape> inputs) {
  const std::int64_t fields = fields_of(inputs)[0];
  ENSURE(fields >= 2);
  return {fields * (fields - 1) / 2};
}

}  // namespace trainyard::runtime
