// Losses: a number per example. Labels and targets are the feed's.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Logits [classes] -> a loss per example.
struct SoftmaxCrossEntropyOp {};

// Logits [1], of the class 1 of two -> a loss per example.
struct SigmoidCrossEntropyOp {};

// Predictions [1] -> a loss per example.
struct SquaredErrorOp {};

OpTraits traits_of(const SoftmaxCrossEntropyOp& op);
OpTraits traits_of(const SigmoidCrossEntropyOp& op);
OpTraits traits_of(const SquaredErrorOp& op);

Shape shape_of(const SoftmaxCrossEntropyOp& op, std::span<const Shape> inputs);
Shape shape_of(const SigmoidCrossEntropyOp& op, std::span<const Shape> inputs);
Shape shape_of(const SquaredErrorOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
