// Metrics: a number per example, without a gradient.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Logits [classes] -> 1 per example that is classified rightly, else 0.
struct MatchLabelsOp {};

// The same for SigmoidCrossEntropyOp's logits [1].
struct MatchBinaryLabelsOp {};

// Logits [classes] -> 1 per example whose label is among the k classes of the largest logits (of
// equal ones the lower class comes first), else 0.
struct TopKOp {
  std::int64_t k = 1;
};

// Predictions [1] -> |prediction - target| per example.
struct AbsoluteErrorOp {};

OpTraits traits_of(const MatchLabelsOp& op);
OpTraits traits_of(const MatchBinaryLabelsOp& op);
OpTraits traits_of(const TopKOp& op);
OpTraits traits_of(const AbsoluteErrorOp& op);

Shape shape_of(const MatchLabelsOp& op, std::span<const Shape> inputs);
Shape shape_of(const MatchBinaryLabelsOp& op, std::span<const Shape> inputs);
Shape shape_of(const TopKOp& op, std::span<const Shape> inputs);
Shape shape_of(const AbsoluteErrorOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
