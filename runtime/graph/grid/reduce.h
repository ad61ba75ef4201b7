// Reductions on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct ReduceOps {
  static Needs needs(const ReduceOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const ReduceOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const ReduceOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
