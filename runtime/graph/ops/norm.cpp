#include "runtime/graph/ops/norm.h"

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// All inputs but x have a number for each channel.
Shape normalized_shape(const NormInputs& has, std::size_t more, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 + has.count() + more && inputs[0].rank() >= 1);
  const Shape channels{inputs[0].columns()};
  ENSURE(std::ranges::all_of(inputs.subspan(1),
                             [&](const Shape& shape) { return shape == channels; }));
  return inputs[0];
}

}  // namespace

OpTraits traits_of(const BatchNormOp&) { return {.backward_reads_inputs = true, .in_place = true}; }
OpTraits traits_of(const LayerNormOp&) { return {.backward_reads_inputs = true, .in_place = true}; }
OpTraits traits_of(const RmsNormOp&) { return {.backward_reads_inputs = true, .in_place = true}; }
OpTraits traits_of(const GroupNormOp&) { return {.backward_reads_inputs = true, .in_place = true}; }

Shape shape_of(const BatchNormOp& op, std::span<const Shape> inputs) {
  return normalized_shape(op.has, 2, inputs);
}

Shape shape_of(const LayerNormOp& op, std::span<const Shape> inputs) {
  return normalized_shape(op.has, 0, inputs);
}

Shape shape_of(const RmsNormOp& op, std::span<const Shape> inputs) {
  ENSURE(!op.has.offset);
  return normalized_shape(op.has, 0, inputs);
}

Shape shape_of(const GroupNormOp& op, std::span<const Shape> inputs) {
  ENSURE(op.groups >= 1 && inputs[0].rank() >= 2 && inputs[0].columns() % op.groups == 0);
  return normalized_shape(op.has, 0, inputs);
}

}  // namespace trainyard::runtime
