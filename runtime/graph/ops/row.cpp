#include "runtime/graph/ops/row.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape of_rows(std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1 && inputs[0].rank() >= 1);
  return inputs[0];
}

}  // namespace

OpTraits traits_of(const SoftmaxOp&) { return {.backward_reads_output = true, .in_place = true}; }

OpTraits traits_of(const LogSoftmaxOp&) {
  return {.backward_reads_output = true, .in_place = true};
}

OpTraits traits_of(const L2NormalizeOp&) {
  return {.backward_reads_inputs = true, .in_place = true};
}

Shape shape_of(const SoftmaxOp&, std::span<const Shape> inputs) { return of_rows(inputs); }

Shape shape_of(const LogSoftmaxOp&, std::span<const Shape> inputs) { return of_rows(inputs); }

Shape shape_of(const L2NormalizeOp&, std::span<const Shape> inputs) { return of_rows(inputs); }

}  // namespace trainyard::runtime
