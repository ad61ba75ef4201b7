#include "runtime/graph/ops/elementwise.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {

OpTraits traits_of(const ActivationOp&) {
  return {.backward_reads_output = true, .in_place = true};
}
OpTraits traits_of(const AddOp&) { return {}; }

Shape shape_of(const ActivationOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1);
  return inputs[0];
}

Shape shape_of(const AddOp&, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 2 && inputs[0] == inputs[1]);
  return inputs[0];
}

}  // namespace trainyard::runtime
