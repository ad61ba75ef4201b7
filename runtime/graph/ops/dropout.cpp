#include "runtime/graph/ops/dropout.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {

OpTraits traits_of(const DropoutOp&) { return {.in_place = true}; }

Shape shape_of(const DropoutOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && op.rate >= 0 && op.rate < 1);
  return inputs[0];
}

}  // namespace trainyard::runtime
