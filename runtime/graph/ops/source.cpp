#include "runtime/graph/ops/source.h"

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

Shape declared() {
  ENSURE(false);
  return {};
}

}  // namespace

OpTraits traits_of(const FeaturesOp&) { return {.has_gradient = false}; }
OpTraits traits_of(const SparseFeaturesOp&) { return {.has_gradient = false}; }
OpTraits traits_of(const IdsOp&) { return {.has_gradient = false}; }
OpTraits traits_of(const VariableOp&) { return {.has_gradient = false}; }

Shape shape_of(const FeaturesOp&, std::span<const Shape>) { return declared(); }
Shape shape_of(const SparseFeaturesOp&, std::span<const Shape>) { return declared(); }
Shape shape_of(const IdsOp&, std::span<const Shape>) { return declared(); }
Shape shape_of(const VariableOp&, std::span<const Shape>) { return declared(); }

}  // namespace trainyard::runtime
