// Axes of an example, which are one further in a batch.
#pragma once

#include "runtime/math/ops/layout.h"

namespace trainyard::runtime {

inline AxisNumbers axes_in_batch(const AxisNumbers& axes) {
  AxisNumbers result;
  for (const std::int64_t axis : axes.sizes()) result.append(axis + 1);
  return result;
}

}  // namespace trainyard::runtime
