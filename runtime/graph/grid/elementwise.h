// Elementwise ops on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct ElementwiseOps {
  static Needs needs(const ActivationOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const PreluOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const AffineOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const ClipOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const AddOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const BinaryOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const ActivationOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const PreluOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const AffineOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const ClipOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const AddOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const BinaryOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const ActivationOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const PreluOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const AffineOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const ClipOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const AddOp& op, const BackwardCall& call);
  static void backward(Grid& grid, const BinaryOp& op, const BackwardCall& call);
};

}  // namespace trainyard::runtime
