#include "runtime/graph/cpu/product.h"

#include "runtime/math/ops/factor.h"
#include "runtime/math/ops/matrix_product.h"

namespace trainyard::runtime {

void run_on_cpu(const MatrixProductOp& op, const ForwardCall& call) {
  matrix_product(op.lies, call.inputs[0], call.inputs[1], call.output, call.threads);
}

void run_on_cpu(const FactorizeOp&, const ForwardCall& call) {
  factorize(call.inputs[0], call.output);
}

void run_on_cpu(const PairwiseDotOp&, const ForwardCall& call) {
  pairwise_dot(call.inputs[0], call.output);
}

void run_back_on_cpu(const MatrixProductOp& op, const BackwardCall& call) {
  const GradientTarget& a = call.input_gradients[0];
  const GradientTarget& b = call.input_gradients[1];
  if (a.into.data != nullptr) {
    matrix_product_a_gradient(op.lies, call.inputs[1], call.output_gradient, a.into, a.write,
                              call.threads);
  }
  if (b.into.data != nullptr) {
    matrix_product_b_gradient(op.lies, call.inputs[0], call.output_gradient, b.into, b.write,
                              call.threads);
  }
}

void run_back_on_cpu(const FactorizeOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  factorize_gradient(call.inputs[0], call.output_gradient, x.into, x.write);
}

void run_back_on_cpu(const PairwiseDotOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  pairwise_dot_gradient(call.inputs[0], call.output_gradient, x.into, x.write);
}

}  // namespace trainyard::runtime
