#include "runtime/graph/cpu/dropout.h"

#include <algorithm>

#include "runtime/math/ops/dropout.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Dropout dropout_of(const DropoutOp& op, const Feed& feed, const Shape& x) {
  ENSURE(x.rank() >= 1 && x[0] == feed.examples);  // positions are those of examples
  return {.seed = feed.seed,
          .layer = op.layer,
          .rate = op.rate,
          .first_position = feed.first_position,
          .stride = op.stride};
}

}  // namespace

void run_on_cpu(const DropoutOp& op, const ForwardCall& call) {
  if (call.pass == Pass::train) {
    drop_out(dropout_of(op, call.feed, call.output.shape), call.inputs[0], call.output);
  } else if (call.output.data != call.inputs[0].data) {
    std::ranges::copy(call.inputs[0].span(), call.output.data);
  }
}

void run_back_on_cpu(const DropoutOp& op, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  drop_out_gradient(dropout_of(op, call.feed, call.output_gradient.shape), call.output_gradient,
                    x.into, x.write);
}

}  // namespace trainyard::runtime
