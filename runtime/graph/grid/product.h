// Products of values with each other on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct ProductOps {
  static Needs needs(const MatrixProductOp& op, std::span<const Shape> inputs, const Shape& output,
                     const Grid& grid);
  static Needs needs(const FactorizeOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const PairwiseDotOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const MatrixProductOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const FactorizeOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const PairwiseDotOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const MatrixProductOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const FactorizeOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const PairwiseDotOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
