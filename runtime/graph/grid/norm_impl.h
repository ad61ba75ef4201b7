// The kernels of norm.h.
#pragma once

#include "runtime/graph/grid/norm.h"
#include "runtime/graph/grid/norm_batch.h"
#include "runtime/graph/grid/norm_groups.h"
#include "runtime/graph/grid/norm_rows.h"

namespace trainyard::runtime {

template <class Grid>
Needs NormOps<Grid>::needs(const BatchNormOp&, std::span<const Shape> inputs, const Shape&) {
  return batch_norm_needs(inputs[0]);
}

template <class Grid>
Needs NormOps<Grid>::needs(const LayerNormOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = 2 * inputs[0].rows(),
          .scratch = row_sums_scratch(inputs[0].rows(), inputs[0].columns(), 2)};
}

template <class Grid>
Needs NormOps<Grid>::needs(const RmsNormOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = inputs[0].rows(),
          .scratch = row_sums_scratch(inputs[0].rows(), inputs[0].columns(), 1)};
}

template <class Grid>
Needs NormOps<Grid>::needs(const GroupNormOp& op, std::span<const Shape> inputs, const Shape&) {
  return group_norm_needs(op, inputs[0]);
}

template <class Grid>
void NormOps<Grid>::forward(Grid& grid, const BatchNormOp& op, const ForwardCall& call) {
  batch_norm_forward(grid, op, call);
}

template <class Grid>
void NormOps<Grid>::backward(Grid& grid, const BatchNormOp& op, const BackwardCall& call) {
  batch_norm_backward(grid, op, call);
}

template <class Grid>
void NormOps<Grid>::forward(Grid& grid, const LayerNormOp& op, const ForwardCall& call) {
  float* const saved = call.saved.data;
  normalize_rows_on(grid, op.has, op.epsilon, call, {saved, saved + call.output.shape.rows()});
}

template <class Grid>
void NormOps<Grid>::backward(Grid& grid, const LayerNormOp& op, const BackwardCall& call) {
  const float* const saved = call.saved.data;
  normalize_rows_back(grid, op.has, call, {saved, saved + call.inputs[0].shape.rows()});
}

template <class Grid>
void NormOps<Grid>::forward(Grid& grid, const RmsNormOp& op, const ForwardCall& call) {
  ENSURE(!op.has.offset);
  normalize_rows_on(grid, op.has, op.epsilon, call, {nullptr, call.saved.data});
}

template <class Grid>
void NormOps<Grid>::backward(Grid& grid, const RmsNormOp& op, const BackwardCall& call) {
  ENSURE(!op.has.offset);
  normalize_rows_back(grid, op.has, call, {nullptr, call.saved.data});
}

template <class Grid>
void NormOps<Grid>::forward(Grid& grid, const GroupNormOp& op, const ForwardCall& call) {
  group_norm_forward(grid, op, call);
}

template <class Grid>
void NormOps<Grid>::backward(Grid& grid, const GroupNormOp& op, const BackwardCall& call) {
  group_norm_backward(grid, op, call);
}

}  // namespace trainyard::runtime
