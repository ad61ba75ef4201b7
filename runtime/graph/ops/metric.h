// Metrics: a number per example, without a gradient.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Logits [classes] -> 1 per example that is classified rightly, else 0.
struct MatchLabelsOp {};

// The same for SigmoidCrossEntropyOp's logits [1].
struct MatchBinaryLabelsOp {};

OpTraits traits_of(const MatchLabelsOp& op);
OpTraits traits_of(const MatchBinaryLabelsOp& op);

Shape shape_of(const MatchLabelsOp& op, std::span<const Shape> inputs);
Shape shape_of(const MatchBinaryLabelsOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
