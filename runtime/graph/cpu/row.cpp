#include "runtime/graph/cpu/row.h"

#include "runtime/math/ops/row_function.h"

namespace trainyard::runtime {

Needs cpu_needs(const L2NormalizeOp&, std::span<const Shape> inputs, const Shape&) {
  return {.saved = inputs[0].rows()};  // norms
}

void run_on_cpu(const SoftmaxOp&, const ForwardCall& call) { softmax(call.inputs[0], call.output); }

void run_on_cpu(const LogSoftmaxOp&, const ForwardCall& call) {
  log_softmax(call.inputs[0], call.output);
}

void run_on_cpu(const L2NormalizeOp&, const ForwardCall& call) {
  l2_normalize(call.inputs[0], call.output, {call.saved.data, {call.output.shape.rows()}});
}

void run_back_on_cpu(const SoftmaxOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  softmax_gradient(call.output, call.output_gradient, x.into, x.write);
}

void run_back_on_cpu(const LogSoftmaxOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  log_softmax_gradient(call.output, call.output_gradient, x.into, x.write);
}

void run_back_on_cpu(const L2NormalizeOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  l2_normalize_gradient({.x = call.inputs[0],
                         .norms = {call.saved.data, {call.inputs[0].shape.rows()}},
                         .y_gradient = call.output_gradient,
                         .x_gradient = x.into,
                         .write = x.write});
}

}  // namespace trainyard::runtime
