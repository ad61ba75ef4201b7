#include "runtime/graph/cpu/layout.h"

#include <algorithm>

#include "runtime/math/ops/row_pool.h"

namespace trainyard::runtime {

// Where it works in place there is nothing to do.
void run_on_cpu(const ReshapeOp&, const ForwardCall& call) {
  if (call.output.data == call.inputs[0].data) return;
  std::ranges::copy(call.inputs[0].span(), call.output.data);
}

void run_back_on_cpu(const ReshapeOp&, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  if (x.into.data == call.output_gradient.data) return;
  pass_on({call.output_gradient.data, x.into.shape}, x.into, x.write);
}

}  // namespace trainyard::runtime
