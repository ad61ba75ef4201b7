#include "runtime/graph/ops/metric.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {

OpTraits traits_of(const MatchLabelsOp&) { return {.has_gradient = false}; }
OpTraits traits_of(const MatchBinaryLabelsOp&) { return {.has_gradient = false}; }
OpTraits traits_of(const TopKOp&) { return {.has_gradient = false}; }
OpTraits traits_of(const AbsoluteErrorOp&) { return {.has_gradient = false}; }

Shape shape_of(const MatchLabelsOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0].rank() == 1);
  return {};
}

Shape shape_of(const MatchBinaryLabelsOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0] == Shape({1}));
  return {};
}

Shape shape_of(const TopKOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0].rank() == 1 && op.k >= 1);
  return {};
}

Shape shape_of(const AbsoluteErrorOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0] == Shape({1}));
  return {};
}

}  // namespace trainyard::runtime
