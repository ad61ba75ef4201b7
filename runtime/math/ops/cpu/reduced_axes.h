// Which axes are reduced in what order (reduce.h), and where the elements lie.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/math/ops/cpu/strided.h"
#include "runtime/math/ops/layout.h"
#include "runtime/math/tensor.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

inline bool is_among(const AxisNumbers& axes, std::size_t axis) {
  return std::ranges::find(axes.sizes(), static_cast<std::int64_t>(axis)) != axes.sizes().end();
}

// The axes that are left of a tensor while it is summed; no two neighbours are of one kind.
class ReducedAxes {
 public:
  ReducedAxes(const Shape& shape, const AxisNumbers& axes) {
    for (std::size_t axis = 0; axis < shape.rank(); ++axis)
      append(shape[axis], is_among(axes, axis));
  }

  // x as [outer, sum, inner], of the last axis that is to be summed.
  struct Step {
    std::int64_t outer = 1;
    std::int64_t sum = 1;
    std::int64_t inner = 1;
  };

  [[nodiscard]] bool is_done() const { return count_ == 0 || (count_ == 1 && !is_reduced_[0]); }

  Step take_last() {
    Step step;
    std::size_t at = count_ - 1;
    if (!is_reduced_[at]) step.inner = sizes_[at--];
    step.sum = sizes_[at];
    for (std::size_t axis = 0; axis < at; ++axis) step.outer *= sizes_[axis];
    count_ = at;
    append(step.inner, false);
    return step;
  }

 private:
  void append(std::int64_t size, bool is_reduced) {
    if (size == 1) return;
    if (count_ > 0 && is_reduced_[count_ - 1] == is_reduced) {
      sizes_[count_ - 1] *= size;
      return;
    }
    sizes_[count_] = size;
    is_reduced_[count_++] = is_reduced;
  }

  std::size_t count_ = 0;
  std::array<std::int64_t, Shape::rank_max> sizes_{};
  std::array<bool, Shape::rank_max> is_reduced_{};
};

// How many elements become one.
inline std::int64_t summed(const Shape& shape, const AxisNumbers& axes) {
  std::int64_t count = 1;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    if (is_among(axes, axis)) count *= shape[axis];
  }
  return count;
}

// How far apart the elements of the other axes are in y; 0 along `axes`.
inline std::array<std::int64_t, Shape::rank_max> kept_strides(const Shape& shape,
                                                              const AxisNumbers& axes) {
  std::array<std::int64_t, Shape::rank_max> strides{};
  std::int64_t stride = 1;
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    if (is_among(axes, axis)) continue;
    strides[axis] = stride;
    stride *= shape[axis];
  }
  return strides;
}

// Axes that stay first, then those that are reduced: where the elements of x and y lie.
struct KeptAndReduced {
  CopyLoops kept;             // x, y
  StridedLoops<1> reduced{};  // x

  KeptAndReduced(const Shape& shape, const AxisNumbers& axes) {
    const auto strides = strides_of(shape);
    const auto y_strides = kept_strides(shape, axes);
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      if (is_among(axes, axis)) {
        reduced.add_axis(shape[axis], {strides[axis]});
      } else {
        kept.add_axis(shape[axis], {strides[axis], y_strides[axis]});
      }
    }
  }
};

// From a number of y to all of x [shape] that it came from.
inline CopyLoops spread_loops(const Shape& shape, const AxisNumbers& axes) {
  const auto strides = strides_of(shape);
  const auto from_strides = kept_strides(shape, axes);
  CopyLoops loops;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
    loops.add_axis(shape[axis], {from_strides[axis], strides[axis]});
  }
  return loops;
}

// Along which an operand is stretched to y's shape: its gradient is summed over them.
inline AxisNumbers stretched(const Shape& operand, const Shape& y) {
  AxisNumbers axes;
  for (std::size_t axis = 0; axis < y.rank(); ++axis) {
    if (operand[axis] != y[axis]) axes.append(static_cast<std::int64_t>(axis));
  }
  return axes;
}

}  // namespace trainyard::runtime
