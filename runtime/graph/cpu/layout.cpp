#include "runtime/graph/cpu/layout.h"

#include <algorithm>

#include "runtime/graph/cpu/batch_axes.h"
#include "runtime/math/ops/layout.h"
#include "runtime/math/ops/row_pool.h"

namespace trainyard::runtime {

// Where it works in place there is nothing to do.
void run_on_cpu(const ReshapeOp&, const ForwardCall& call) {
  if (call.output.data == call.inputs[0].data) return;
  std::ranges::copy(call.inputs[0].span(), call.output.data);
}

void run_on_cpu(const TransposeOp& op, const ForwardCall& call) {
  transpose(call.inputs[0], behind(0, axes_in_batch(op.axes)), call.output);
}

void run_on_cpu(const ConcatOp& op, const ForwardCall& call) {
  concat(call.inputs, op.axis + 1, call.output);
}

void run_on_cpu(const SliceOp& op, const ForwardCall& call) {
  slice(call.inputs[0], place_along(op.axis, op.begin, call.output.shape), call.output);
}

void run_on_cpu(const PadOp& op, const ForwardCall& call) {
  pad(call.inputs[0], behind(0, op.before), op.value, call.output);
}

void run_back_on_cpu(const ReshapeOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == call.output_gradient.data) return;
  pass_on({call.output_gradient.data, x.into.shape}, x.into, x.write);
}

void run_back_on_cpu(const TransposeOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  transpose_gradient(call.output_gradient, behind(0, axes_in_batch(op.axes)), x.into, x.write);
}

void run_back_on_cpu(const ConcatOp& op, const BackwardCall& call) {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const GradientTarget& x = call.input_gradients[i];
    if (x.into.data != nullptr) {
      concat_gradient(call.output_gradient, op.axis + 1, begin, x.into, x.write);
    }
    begin += call.inputs[i].shape[op.axis + 1];
  }
}

void run_back_on_cpu(const SliceOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  slice_gradient(call.output_gradient, place_along(op.axis, op.begin, x.into.shape), x.into,
                 x.write);
}

void run_back_on_cpu(const PadOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  pad_gradient(call.output_gradient, behind(0, op.before), x.into, x.write);
}

}  // namespace trainyard::runtime
