#include "runtime/graph/ops/sequence_loss.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape number_of_scores(std::span<const Shape> inputs, std::int64_t blank) {
  ENSURE(inputs.size() == 1 && inputs[0].rank() == 2);
  ENSURE(blank >= 0 && blank < inputs[0][1]);
  return {};
}

}  // namespace

OpTraits traits_of(const TokenCrossEntropyOp&) { return {}; }
OpTraits traits_of(const MatchTokensOp&) { return {.has_gradient = false}; }
OpTraits traits_of(const CtcOp&) { return {}; }
OpTraits traits_of(const EditDistanceOp&) { return {.has_gradient = false}; }
OpTraits traits_of(const MatchSequenceOp&) { return {.has_gradient = false}; }

Shape shape_of(const TokenCrossEntropyOp& op, std::span<const Shape> inputs) {
  ENSURE(op.label_smoothing >= 0 && op.label_smoothing < 1);
  return number_of_scores(inputs, 0);
}

Shape shape_of(const MatchTokensOp&, std::span<const Shape> inputs) {
  return number_of_scores(inputs, 0);
}

Shape shape_of(const CtcOp& op, std::span<const Shape> inputs) {
  return number_of_scores(inputs, op.blank);
}

Shape shape_of(const EditDistanceOp& op, std::span<const Shape> inputs) {
  return number_of_scores(inputs, op.blank);
}

Shape shape_of(const MatchSequenceOp& op, std::span<const Shape> inputs) {
  return number_of_scores(inputs, op.blank);
}

}  // namespace trainyard::runtime
