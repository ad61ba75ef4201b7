// Attention, positions, rotations on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct AttentionOps {
  static Needs needs(const SdpaOp& op, std::span<const Shape> inputs, const Shape& output,
                     const Grid& grid);
  static Needs needs(const PositionsOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const RopeOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const SdpaOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const PositionsOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const RopeOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const SdpaOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const PositionsOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const RopeOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
