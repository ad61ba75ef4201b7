// Normalisations on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct NormOps {
  static Needs needs(const BatchNormOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const LayerNormOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const RmsNormOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const GroupNormOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const BatchNormOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const LayerNormOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const RmsNormOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const GroupNormOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const BatchNormOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const LayerNormOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const RmsNormOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const GroupNormOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
