// Axes of an example, which are one further in a batch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/math/ops/layout.h"
#include "runtime/math/tensor.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

inline AxisNumbers axes_in_batch(const AxisNumbers& axes) {
  AxisNumbers result;
  for (const std::int64_t axis : axes.sizes()) result.append(axis + 1);
  return result;
}

// A number more, of the examples' axis.
inline AxisNumbers behind(std::int64_t first, const AxisNumbers& numbers) {
  AxisNumbers result{first};
  for (const std::int64_t number : numbers.sizes()) result.append(number);
  return result;
}

// `begin` along one axis of an example, 0 along all others of a batch.
inline AxisNumbers place_along(std::size_t axis, std::int64_t begin, const Shape& batch) {
  AxisNumbers place;
  for (std::size_t i = 0; i < batch.rank(); ++i) place.append(i == axis + 1 ? begin : 0);
  return place;
}

// An operand under the output's rank: examples first, then axes that are missing, as size 1.
inline Shape of_rank(const Shape& operand, const Shape& output) {
  ENSURE(operand[0] == output[0] && operand.rank() <= output.rank());
  Shape shape{operand[0]};
  for (std::size_t i = operand.rank(); i < output.rank(); ++i) shape.append(1);
  for (const std::int64_t size : operand.sizes().subspan(1)) shape.append(size);
  return shape;
}

}  // namespace trainyard::runtime
