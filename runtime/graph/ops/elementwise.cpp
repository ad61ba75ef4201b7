#include "runtime/graph/ops/elementwise.h"

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape only_input(std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1);
  return inputs[0];
}

// Counted from the last; 1 where there is no such axis.
std::int64_t size_from_last(const Shape& shape, std::size_t axis) {
  return axis < shape.rank() ? shape[shape.rank() - 1 - axis] : 1;
}

}  // namespace

OpTraits traits_of(const ActivationOp& op) {
  const bool reads_input = gradient_reads(op.function.kind) == Side::input;
  return {.backward_reads_inputs = reads_input,
          .backward_reads_output = !reads_input,
          .in_place = true};
}

// A slope may be below zero, so that the output does not tell on which side the input was.
OpTraits traits_of(const PreluOp&) { return {.backward_reads_inputs = true, .in_place = true}; }

OpTraits traits_of(const AffineOp&) { return {.in_place = true}; }

OpTraits traits_of(const ClipOp&) { return {.backward_reads_inputs = true, .in_place = true}; }

OpTraits traits_of(const AddOp&) { return {.in_place = true}; }

OpTraits traits_of(const BinaryOp& op) {
  return {.backward_reads_inputs = op.op != Binary::add && op.op != Binary::sub};
}

Shape shape_of(const ActivationOp&, std::span<const Shape> inputs) { return only_input(inputs); }

Shape shape_of(const PreluOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2 && inputs[0].rank() >= 1);
  ENSURE(inputs[1] == Shape({inputs[0].columns()}));
  return inputs[0];
}

Shape shape_of(const AffineOp&, std::span<const Shape> inputs) { return only_input(inputs); }

Shape shape_of(const ClipOp&, std::span<const Shape> inputs) { return only_input(inputs); }

Shape shape_of(const AddOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2 && inputs[0] == inputs[1]);
  return inputs[0];
}

Shape shape_of(const BinaryOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2);
  Shape shape;
  for (std::size_t axis = std::max(inputs[0].rank(), inputs[1].rank()); axis-- > 0;) {
    const std::int64_t a = size_from_last(inputs[0], axis);
    const std::int64_t b = size_from_last(inputs[1], axis);
    ENSURE(a == b || a == 1 || b == 1);
    shape.append(a == 1 ? b : a);
  }
  return shape;
}

}  // namespace trainyard::runtime
