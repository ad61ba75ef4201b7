// Ops that move numbers on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct LayoutOps {
  static Needs needs(const ReshapeOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const TransposeOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const ConcatOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const SliceOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const PadOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const ReshapeOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const TransposeOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const ConcatOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const SliceOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const PadOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const ReshapeOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const TransposeOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const ConcatOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const SliceOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const PadOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
