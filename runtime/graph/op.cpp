#include "runtime/graph/op.h"

namespace trainyard::runtime {

OpTraits traits(const Op& op) {
  return std::visit([](const auto& kind) { return traits_of(kind); }, op);
}

Shape output_shape(const Op& op, std::span<const Shape> inputs) {
  return std::visit([&](const auto& kind) { return shape_of(kind, inputs); }, op);
}

}  // namespace trainyard::runtime
