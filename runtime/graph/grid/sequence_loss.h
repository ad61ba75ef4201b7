// Losses and metrics of sequences on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct SequenceLossOps {
  static Needs needs(const TokenCrossEntropyOp& op, std::span<const Shape> inputs,
                     const Shape& output);
  static Needs needs(const MatchTokensOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const CtcOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const EditDistanceOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const MatchSequenceOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const TokenCrossEntropyOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const MatchTokensOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const CtcOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const EditDistanceOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const MatchSequenceOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const TokenCrossEntropyOp& op, const BackwardCall& call);
  static void backward(Grid&, const MatchTokensOp&, const BackwardCall&) {}
  static void backward(Grid& grid, const CtcOp& op, const BackwardCall& call);
  static void backward(Grid&, const EditDistanceOp&, const BackwardCall&) {}
  static void backward(Grid&, const MatchSequenceOp&, const BackwardCall&) {}
};

}  // namespace trainyard::runtime
