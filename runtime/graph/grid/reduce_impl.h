// The kernels of reduce.h.
#pragma once

#include "runtime/graph/cpu/batch_axes.h"
#include "runtime/graph/grid/countable.h"
#include "runtime/graph/grid/reduce.h"
#include "runtime/graph/grid/reduce_max.h"
#include "runtime/graph/grid/reduce_sum.h"
#include "runtime/graph/grid/strides.h"
#include "runtime/graph/grid/team.h"

namespace trainyard::runtime {

// Of a mean.
struct DividedBy {
  float count;
  TRAINYARD_BOTH float operator()(float value) const { return value / count; }
};

template <class Grid>
Needs ReduceOps<Grid>::needs(const ReduceOp& op, std::span<const Shape> inputs,
                             const Shape& output) {
  const AxisNumbers axes = axes_in_batch(op.axes);
  if (op.kind != Reduction::max) return {.scratch = reduce_sum_scratch(inputs[0], axes)};
  require_countable(summed(inputs[0], axes));
  return {.saved = output.elements()};  // places
}

template <class Grid>
void ReduceOps<Grid>::forward(Grid& grid, const ReduceOp& op, const ForwardCall& call) {
  const ConstTensor x = call.inputs[0];
  const AxisNumbers axes = axes_in_batch(op.axes);
  const DividedBy mean{static_cast<float>(summed(x.shape, axes))};
  switch (op.kind) {
    case Reduction::sum:
      return reduce_sum_on(grid, x, axes, call.output, Write::overwrite, call.scratch, AsItIs{});
    case Reduction::mean:
      return reduce_sum_on(grid, x, axes, call.output, Write::overwrite, call.scratch, mean);
    case Reduction::max: return reduce_max_on(grid, x, axes, call.output, call.saved);
  }
}

template <class Grid>
void ReduceOps<Grid>::backward(Grid& grid, const ReduceOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == nullptr) return;
  const AxisNumbers axes = axes_in_batch(op.axes);
  const DividedBy mean{static_cast<float>(summed(x.into.shape, axes))};
  const CopyLoops spread = spread_loops(x.into.shape, axes);
  const float* const upstream = call.output_gradient.data;
  switch (op.kind) {
    case Reduction::sum: return copy_on(grid, spread, upstream, x.into.data, x.write);
    case Reduction::mean: return copy_on(grid, spread, upstream, x.into.data, x.write, mean);
    case Reduction::max:
      return reduce_max_gradient_on(grid, call.output_gradient, call.saved, axes, x.into, x.write);
  }
}

}  // namespace trainyard::runtime
