#include "runtime/graph/cpu/reduce.h"

#include <algorithm>

#include "runtime/graph/cpu/batch_axes.h"
#include "runtime/math/ops/reduce.h"

namespace trainyard::runtime {

Needs cpu_needs(const ReduceOp& op, std::span<const Shape> inputs, const Shape& output) {
  if (op.kind == Reduction::max) return {.saved = output.elements()};  // places
  // The mean's gradient is divided before it is spread.
  return {.scratch = std::max(reduce_scratch(inputs[0], axes_in_batch(op.axes)),
                              op.kind == Reduction::mean ? output.elements() : 0)};
}

void run_on_cpu(const ReduceOp& op, const ForwardCall& call) {
  const ConstTensor x = call.inputs[0];
  const AxisNumbers axes = axes_in_batch(op.axes);
  switch (op.kind) {
    case Reduction::sum:
      return reduce_sum(x, axes, call.output, Write::overwrite, call.scratch.span());
    case Reduction::mean: return reduce_mean(x, axes, call.output, call.scratch.span());
    case Reduction::max:
      return reduce_max(x, axes, call.output, {call.saved.data, call.output.shape});
  }
}

void run_back_on_cpu(const ReduceOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const AxisNumbers axes = axes_in_batch(op.axes);
  switch (op.kind) {
    case Reduction::sum: return reduce_sum_gradient(call.output_gradient, axes, x.into, x.write);
    case Reduction::mean:
      return reduce_mean_gradient(call.output_gradient, axes, x.into, x.write, call.scratch.span());
    case Reduction::max:
      return reduce_max_gradient(call.output_gradient, {call.saved.data, call.output.shape}, axes,
                                 x.into, x.write);
  }
}

}  // namespace trainyard::runtime
