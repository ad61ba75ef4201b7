// Dropout on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct DropoutOps {
  static Needs needs(const DropoutOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const DropoutOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const DropoutOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
