// Losses: a number per example. Labels and targets are the feed's.
#pragma once

#include <span>

#include "runtime/graph/ops/op_traits.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Logits [classes] -> a loss per example. With label smoothing s (PyTorch's) the label has the
// probability 1 - s, and all classes share s.
struct SoftmaxCrossEntropyOp {
  double label_smoothing = 0;  // in [0, 1)
};

// Logits [1], of the class 1 of two -> a loss per example. Smoothed labels are s / 2 and 1 - s / 2.
struct SigmoidCrossEntropyOp {
  double label_smoothing = 0;  // in [0, 1)
};

// Predictions [1] -> a loss per example.
struct SquaredErrorOp {};

// Predictions [1] -> a loss per example: (prediction - target)^2 / 2 up to a distance of delta, and
// delta * (distance - delta / 2) beyond.
struct HuberOp {
  double delta = 1;
};

OpTraits traits_of(const SoftmaxCrossEntropyOp& op);
OpTraits traits_of(const SigmoidCrossEntropyOp& op);
OpTraits traits_of(const SquaredErrorOp& op);
OpTraits traits_of(const HuberOp& op);

Shape shape_of(const SoftmaxCrossEntropyOp& op, std::span<const Shape> inputs);
Shape shape_of(const SigmoidCrossEntropyOp& op, std::span<const Shape> inputs);
Shape shape_of(const SquaredErrorOp& op, std::span<const Shape> inputs);
Shape shape_of(const HuberOp& op, std::span<const Shape> inputs);

}  // namespace trainyard::runtime
