#include "runtime/graph/cpu/elementwise.h"

#include "runtime/math/ops/activation.h"
#include "runtime/math/ops/row_pool.h"

namespace trainyard::runtime {

void run_on_cpu(const ActivationOp& op, const ForwardCall& call) {
  activate(op.kind, call.inputs[0], call.output);
}

void run_on_cpu(const AddOp&, const ForwardCall& call) {
  add(call.inputs[0], call.inputs[1], call.output);
}

void run_back_on_cpu(const ActivationOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  activate_gradient(op.kind, call.output, call.output_gradient, x.into, x.write);
}

void run_back_on_cpu(const AddOp&, const BackwardCall& call) {
  for (const GradientTarget& target : call.input_gradients) {
    if (target.into.data != nullptr) pass_on(call.output_gradient, target.into, target.write);
  }
}

}  // namespace trainyard::runtime
