#include "runtime/graph/ops/layout.h"

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape with_size(const Shape& of, std::size_t axis, std::int64_t size) {
  Shape shape;
  for (std::size_t i = 0; i < of.rank(); ++i) shape.append(i == axis ? size : of[i]);
  return shape;
}

}  // namespace

OpTraits traits_of(const ReshapeOp&) { return {.in_place = true}; }

OpTraits traits_of(const TransposeOp&) { return {}; }

OpTraits traits_of(const ConcatOp&) { return {}; }

OpTraits traits_of(const SliceOp&) { return {}; }

OpTraits traits_of(const PadOp&) { return {}; }

Shape shape_of(const ReshapeOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0].elements() == op.to.elements());
  return op.to;
}

Shape shape_of(const TransposeOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && op.axes.rank() == inputs[0].rank());
  Shape shape;
  for (const std::int64_t axis : op.axes.sizes()) {
    ENSURE(static_cast<std::size_t>(axis) < op.axes.rank());
    ENSURE(std::ranges::count(op.axes.sizes(), axis) == 1);
    shape.append(inputs[0][static_cast<std::size_t>(axis)]);
  }
  return shape;
}

Shape shape_of(const ConcatOp& op, std::span<const Shape> inputs) {
  ENSURE(!inputs.empty() && op.axis < inputs[0].rank());
  std::int64_t size = 0;
  for (const Shape& input : inputs) {
    ENSURE(input.rank() == inputs[0].rank());
    size += input[op.axis];
    ENSURE(with_size(input, op.axis, 1) == with_size(inputs[0], op.axis, 1));
  }
  return with_size(inputs[0], op.axis, size);
}

Shape shape_of(const SliceOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && op.axis < inputs[0].rank());
  ENSURE(op.begin >= 0 && op.size >= 1 && op.begin + op.size <= inputs[0][op.axis]);
  return with_size(inputs[0], op.axis, op.size);
}

Shape shape_of(const PadOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1);
  const Shape& x = inputs[0];
  ENSURE(op.before.rank() == x.rank() && op.after.rank() == x.rank());
  Shape shape;
  for (std::size_t i = 0; i < x.rank(); ++i) shape.append(op.before[i] + x[i] + op.after[i]);
  return shape;
}

}  // namespace trainyard::runtime
