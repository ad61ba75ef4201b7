// What compares the examples of a batch on a grid (team.h).
#pragma once

#include <span>

#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
struct InBatchOps {
  static Needs needs(const InBatchSoftmaxOp& op, std::span<const Shape> inputs,
                     const Shape& output);
  static Needs needs(const RecallInBatchOp& op, std::span<const Shape> inputs, const Shape& output);

  static void forward(Grid& grid, const InBatchSoftmaxOp& op, const ForwardCall& call);
  static void forward(Grid& grid, const RecallInBatchOp& op, const ForwardCall& call);

  static void backward(Grid& grid, const InBatchSoftmaxOp& op, const BackwardCall& call);
  static void backward(Grid&, const RecallInBatchOp&, const BackwardCall&) {}
};

}  // namespace trainyard::runtime
