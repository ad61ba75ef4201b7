#include "runtime/graph/cpu/elementwise.h"

#include <algorithm>

#include "runtime/graph/cpu/batch_axes.h"
#include "runtime/math/ops/activation.h"
#include "runtime/math/ops/binary.h"
#include "runtime/math/ops/linear.h"
#include "runtime/math/ops/prelu.h"
#include "runtime/math/ops/row_pool.h"

namespace trainyard::runtime {
namespace {

ConstTensor of_rank(ConstTensor operand, const Shape& output) {
  return {operand.data, of_rank(operand.shape, output)};
}

}  // namespace

Needs cpu_needs(const BinaryOp&, std::span<const Shape> inputs, const Shape& output) {
  std::int64_t scratch = 0;
  for (const Shape& input : inputs) {
    scratch = std::max(scratch, combine_gradient_scratch(of_rank(input, output), output));
  }
  return {.scratch = scratch};
}

void run_on_cpu(const ActivationOp& op, const ForwardCall& call) {
  activate(op.function, call.inputs[0], call.output);
}

void run_on_cpu(const PreluOp&, const ForwardCall& call) {
  prelu(call.inputs[0], call.inputs[1], call.output, call.threads);
}

void run_on_cpu(const AffineOp& op, const ForwardCall& call) {
  affine(op.by, call.inputs[0], call.output);
}

void run_on_cpu(const ClipOp& op, const ForwardCall& call) {
  clip(op.limits, call.inputs[0], call.output);
}

void run_on_cpu(const AddOp&, const ForwardCall& call) {
  add(call.inputs[0], call.inputs[1], call.output);
}

void run_on_cpu(const BinaryOp& op, const ForwardCall& call) {
  const Shape& y = call.output.shape;
  combine(op.op, of_rank(call.inputs[0], y), of_rank(call.inputs[1], y), call.output);
}

void run_back_on_cpu(const ActivationOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const bool reads_input = gradient_reads(op.function.kind) == Side::input;
  activate_gradient(op.function, reads_input ? call.inputs[0] : call.output, call.output_gradient,
                    x.into, x.write);
}

void run_back_on_cpu(const PreluOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const GradientTarget& slope = call.input_gradients[1];
  prelu_gradient({.x = call.inputs[0],
                  .slope = call.inputs[1],
                  .y_gradient = call.output_gradient,
                  .x_gradient = x.into,
                  .x_write = x.write,
                  .slope_gradient = slope.into,
                  .slope_write = slope.write,
                  .threads = call.threads});
}

void run_back_on_cpu(const AffineOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  affine_gradient(op.by, call.output_gradient, x.into, x.write);
}

void run_back_on_cpu(const ClipOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  clip_gradient(op.limits, call.inputs[0], call.output_gradient, x.into, x.write);
}

// The first of them may be what flows in, where that lies.
void run_back_on_cpu(const AddOp&, const BackwardCall& call) {
  for (const GradientTarget& target : call.input_gradients) {
    const bool is_there = target.into.data == call.output_gradient.data;
    if (target.into.data == nullptr || is_there) continue;
    pass_on(call.output_gradient, target.into, target.write);
  }
}

void run_back_on_cpu(const BinaryOp& op, const BackwardCall& call) {
  const Shape& y = call.output_gradient.shape;
  for (const Towards of : {Towards::a, Towards::b}) {
    const GradientTarget& target = call.input_gradients[of == Towards::a ? 0 : 1];
    if (target.into.data == nullptr) continue;
    combine_gradient(op.op,
                     {.a = of_rank(call.inputs[0], y),
                      .b = of_rank(call.inputs[1], y),
                      .y_gradient = call.output_gradient,
                      .of = of,
                      .of_gradient = target.into,
                      .write = target.write},
                     call.scratch.span());
  }
}

}  // namespace trainyard::runtime
