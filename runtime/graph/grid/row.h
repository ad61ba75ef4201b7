// Functions of rows on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct RowOps {
  static Needs needs(const SoftmaxOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const LogSoftmaxOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const L2NormalizeOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const SoftmaxOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const LogSoftmaxOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const L2NormalizeOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const SoftmaxOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const LogSoftmaxOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const L2NormalizeOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
