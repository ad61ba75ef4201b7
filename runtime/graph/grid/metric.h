// Metrics on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct MetricOps {
  static Needs needs(const MatchLabelsOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const MatchBinaryLabelsOp& op, std::span<const Shape> inputs,
                     const Shape& output);
  static Needs needs(const TopKOp& op, std::span<const Shape> inputs, const Shape& output);
  static Needs needs(const AbsoluteErrorOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const MatchLabelsOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const MatchBinaryLabelsOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const TopKOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const AbsoluteErrorOp& op, const ForwardCall& call);

  static void backward(Grid&, const MatchLabelsOp&, const BackwardCall&) {}
  static void backward(Grid&, const MatchBinaryLabelsOp&, const BackwardCall&) {}
  static void backward(Grid&, const TopKOp&, const BackwardCall&) {}
  static void backward(Grid&, const AbsoluteErrorOp&, const BackwardCall&) {}
};

}  // namespace trainyard::runtime
