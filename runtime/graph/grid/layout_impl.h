// The kernels of layout.h: copies, with the loops of the CPU's.
#pragma once

#include "runtime/graph/cpu/batch_axes.h"
#include "runtime/graph/grid/layout.h"
#include "runtime/graph/grid/strides.h"
#include "runtime/graph/grid/team.h"
#include "runtime/math/ops/cpu/layout_loops.h"

namespace trainyard::runtime {

// to = the part of `whole` at `first`.
template <class Grid>
void take_part_on(Grid& grid, ConstTensor whole, const AxisNumbers& first, Tensor to, Write write) {
  copy_on(grid, part_loops(to.shape, whole.shape, to.shape),
          whole.data + offset_of(to.shape, first, whole.shape), to.data, write);
}

// The part of `whole` at `first` = from.
template <class Grid>
void put_part_on(Grid& grid, ConstTensor from, const AxisNumbers& first, Tensor whole,
                 Write write) {
  copy_on(grid, part_loops(from.shape, from.shape, whole.shape), from.data,
          whole.data + offset_of(from.shape, first, whole.shape), write);
}

template <class Grid>
Needs LayoutOps<Grid>::needs(const ReshapeOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs LayoutOps<Grid>::needs(const TransposeOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs LayoutOps<Grid>::needs(const ConcatOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs LayoutOps<Grid>::needs(const SliceOp&, std::span<const Shape>, const Shape&) {
  return {};
}

template <class Grid>
Needs LayoutOps<Grid>::needs(const PadOp&, std::span<const Shape>, const Shape&) {
  return {};
}

// Where it works in place there is nothing to do.
template <class Grid>
void LayoutOps<Grid>::forward(Grid& grid, const ReshapeOp&, const ForwardCall& call) {
  if (call.output.data == call.inputs[0].data) return;
  map_on(grid, call.inputs[0], call.output, AsItIs{});
}

template <class Grid>
void LayoutOps<Grid>::backward(Grid& grid, const ReshapeOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr || x.into.data == call.output_gradient.data) return;
  map_more_on(grid, call.output_gradient, x.into, x.write, AsItIs{});
}

template <class Grid>
void LayoutOps<Grid>::forward(Grid& grid, const TransposeOp& op, const ForwardCall& call) {
  const AxisNumbers axes = behind(0, axes_in_batch(op.axes));
  copy_on(grid, transpose_loops(call.inputs[0].shape, axes, call.output.shape), call.inputs[0].data,
          call.output.data, Write::overwrite);
}

template <class Grid>
void LayoutOps<Grid>::backward(Grid& grid, const TransposeOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr) return;
  const AxisNumbers axes = behind(0, axes_in_batch(op.axes));
  copy_on(grid, transpose_back_loops(call.output_gradient.shape, axes, x.into.shape),
          call.output_gradient.data, x.into.data, x.write);
}

template <class Grid>
void LayoutOps<Grid>::forward(Grid& grid, const ConcatOp& op, const ForwardCall& call) {
  std::int64_t begin = 0;
  for (const ConstTensor& input : call.inputs) {
    put_part_on(grid, input, place_along(op.axis, begin, call.output.shape), call.output,
                Write::overwrite);
    begin += input.shape[op.axis + 1];
  }
}

template <class Grid>
void LayoutOps<Grid>::backward(Grid& grid, const ConcatOp& op, const BackwardCall& call) {
  const ConstTensor upstream = call.output_gradient;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const GradientTarget& x = call.input_gradients[i];
    if (x.into.data != nullptr) {
      take_part_on(grid, upstream, place_along(op.axis, begin, upstream.shape), x.into, x.write);
    }
    begin += call.inputs[i].shape[op.axis + 1];
  }
}

template <class Grid>
void LayoutOps<Grid>::forward(Grid& grid, const SliceOp& op, const ForwardCall& call) {
  take_part_on(grid, call.inputs[0], place_along(op.axis, op.begin, call.output.shape), call.output,
               Write::overwrite);
}

template <class Grid>
void LayoutOps<Grid>::backward(Grid& grid, const SliceOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr) return;
  if (x.write == Write::overwrite) fill_on(grid, x.into, 0.0F);
  put_part_on(grid, call.output_gradient, place_along(op.axis, op.begin, x.into.shape), x.into,
              x.write);
}

template <class Grid>
void LayoutOps<Grid>::forward(Grid& grid, const PadOp& op, const ForwardCall& call) {
  fill_on(grid, call.output, op.value);
  put_part_on(grid, call.inputs[0], behind(0, op.before), call.output, Write::overwrite);
}

template <class Grid>
void LayoutOps<Grid>::backward(Grid& grid, const PadOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr) return;
  take_part_on(grid, call.output_gradient, behind(0, op.before), x.into, x.write);
}

}  // namespace trainyard::runtime
