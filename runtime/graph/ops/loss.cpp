#include "runtime/graph/ops/loss.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape loss_of_numbers(std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0] == Shape({1}));
  return {};
}

}  // namespace

OpTraits traits_of(const SoftmaxCrossEntropyOp&) { return {}; }
OpTraits traits_of(const SigmoidCrossEntropyOp&) { return {.backward_reads_inputs = true}; }
OpTraits traits_of(const SquaredErrorOp&) { return {.backward_reads_inputs = true}; }
OpTraits traits_of(const HuberOp&) { return {.backward_reads_inputs = true}; }

Shape shape_of(const SoftmaxCrossEntropyOp& op, std::span<const Shape> inputs) {
  ENSURE(op.label_smoothing >= 0 && op.label_smoothing < 1);
  ENSURE(inputs.size() == 1 && inputs[0].rank() == 1);
  return {};
}

Shape shape_of(const SigmoidCrossEntropyOp& op, std::span<const Shape> inputs) {
  ENSURE(op.label_smoothing >= 0 && op.label_smoothing < 1);
  return loss_of_numbers(inputs);
}

Shape shape_of(const SquaredErrorOp&, std::span<const Shape> inputs) {
  return loss_of_numbers(inputs);
}

Shape shape_of(const HuberOp& op, std::span<const Shape> inputs) {
  ENSURE(op.delta > 0);
  return loss_of_numbers(inputs);
}

}  // namespace trainyard::runtime
