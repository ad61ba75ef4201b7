#include "runtime/graph/ops/layout.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {

OpTraits traits_of(const ReshapeOp&) { return {.in_place = true}; }

Shape shape_of(const ReshapeOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0].elements() == op.to.elements());
  return op.to;
}

}  // namespace trainyard::runtime
