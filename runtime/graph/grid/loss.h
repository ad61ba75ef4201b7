// Losses on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct LossOps {
  static Needs needs(const SoftmaxCrossEntropyOp& op, std::span<const Shape> inputs,
                     const Shape& output);
  static Needs needs(const SigmoidCrossEntropyOp& op, std::span<const Shape> inputs,
                     const Shape& output);
  static Needs needs(const SquaredErrorOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const HuberOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const SoftmaxCrossEntropyOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const SigmoidCrossEntropyOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const SquaredErrorOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const HuberOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const SoftmaxCrossEntropyOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const SigmoidCrossEntropyOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const SquaredErrorOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const HuberOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
