#include "runtime/graph/ops/attention.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {

OpTraits traits_of(const SdpaOp&) {
  return {.backward_reads_inputs = true, .backward_reads_output = true};
}
OpTraits traits_of(const PositionsOp&) { return {.in_place = true}; }
OpTraits traits_of(const RopeOp&) { return {.in_place = true}; }

Shape shape_of(const SdpaOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 3);
  const Shape& q = inputs[0];
  const Shape& k = inputs[1];
  ENSURE(q.rank() == 2 && k.rank() == 2 && k == inputs[2] && q.columns() == k.columns());
  ENSURE(op.heads >= 1 && q.columns() % op.heads == 0 && (!op.is_causal || q[0] == k[0]));
  ENSURE(op.dropout >= 0 && op.dropout < 1);
  return q;
}

Shape shape_of(const PositionsOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2 && inputs[0].rank() == 2 && inputs[1].rank() == 2);
  ENSURE(inputs[0].columns() == inputs[1].columns() && inputs[0][0] <= inputs[1][0]);
  return inputs[0];
}

Shape shape_of(const RopeOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0].rank() == 2);
  ENSURE(op.rotation.heads >= 1 && inputs[0].columns() % (2 * op.rotation.heads) == 0);
  return inputs[0];
}

}  // namespace trainyard::runtime
