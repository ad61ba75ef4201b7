#include "runtime/graph/ops/in_batch.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape of_two_towers(std::span<const Shape> inputs) {
  ENSURE(inputs.size() >= 2 && inputs[0] == inputs[1] && inputs[0].rank() == 1);
  return {};
}

}  // namespace

OpTraits traits_of(const InBatchSoftmaxOp&) { return {.backward_reads_inputs = true}; }
OpTraits traits_of(const RecallInBatchOp&) { return {.has_gradient = false}; }

Shape shape_of(const InBatchSoftmaxOp& op, std::span<const Shape> inputs) {
  ENSURE(op.temperature > 0 && inputs.size() <= 3);
  if (inputs.size() > 2) ENSURE(inputs[2].elements() == 1);
  return of_two_towers(inputs);
}

Shape shape_of(const RecallInBatchOp& op, std::span<const Shape> inputs) {
  ENSURE(op.k >= 1 && inputs.size() == 2);
  return of_two_towers(inputs);
}

}  // namespace trainyard::runtime
