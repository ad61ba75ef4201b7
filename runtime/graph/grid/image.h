// Convolutions and pools on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct ImageOps {
  static Needs needs(const Conv2dOp& op, std::span<const Shape> inputs, const Shape& output,
                     const Grid& grid);
  static Needs needs(const DepthwiseConv2dOp& op, std::span<const Shape> inputs,
                     const Shape& output);
  static Needs needs(const MaxPool2dOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const AvgPool2dOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const GlobalAvgPoolOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const Conv2dOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const DepthwiseConv2dOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const MaxPool2dOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const AvgPool2dOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const GlobalAvgPoolOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const Conv2dOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const DepthwiseConv2dOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const MaxPool2dOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const AvgPool2dOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const GlobalAvgPoolOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
