#include "runtime/graph/ops/reduce.h"

#include <algorithm>

#include "schemas/base/check.h"

namespace trainyard::runtime {

OpTraits traits_of(const ReduceOp&) { return {}; }

Shape shape_of(const ReduceOp& op, std::span<const Shape> inputs) {
  ENSURE(inputs.size() == 1);
  const Shape& x = inputs[0];
  for (const std::int64_t axis : op.axes.sizes()) {
    ENSURE(static_cast<std::size_t>(axis) < x.rank());
    ENSURE(std::ranges::count(op.axes.sizes(), axis) == 1);
  }
  Shape shape;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const bool stays = std::ranges::count(op.axes.sizes(), static_cast<std::int64_t>(axis)) == 0;
    if (stays) shape.append(x[axis]);
    if (!stays && op.keeps_axes) shape.append(1);
  }
  return shape;
}

}  // namespace trainyard::runtime
