// Where numbers that are moved lie (layout.h), as loops over the axes of both tensors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/math/ops/cpu/strided.h"
#include "runtime/math/ops/layout.h"
#include "runtime/math/tensor.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {

// From x to y, whose axis i is x's axis axes[i].
inline CopyLoops transpose_loops(const Shape& x, const AxisNumbers& axes, const Shape& y) {
  ENSURE(axes.rank() == x.rank() && axes.rank() == y.rank());
  const auto from_strides = strides_of(x);
  const auto to_strides = strides_of(y);
  CopyLoops loops;
  for (std::size_t i = 0; i < axes.rank(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    ENSURE(axis < x.rank() && y[i] == x[axis]);
    loops.add_axis(y[i], {from_strides[axis], to_strides[i]});
  }
  return loops;
}

// The other way: from y to x.
inline CopyLoops transpose_back_loops(const Shape& y, const AxisNumbers& axes, const Shape& x) {
  ENSURE(axes.rank() == y.rank() && axes.rank() == x.rank());
  const auto from_strides = strides_of(y);
  const auto to_strides = strides_of(x);
  CopyLoops loops;
  for (std::size_t axis = 0; axis < axes.rank(); ++axis) {
    const auto sizes = axes.sizes();
    const auto found = std::ranges::find(sizes, static_cast<std::int64_t>(axis));
    ENSURE(found != sizes.end());
    const auto i = static_cast<std::size_t>(found - sizes.begin());
    ENSURE(y[i] == x[axis]);
    loops.add_axis(x[axis], {from_strides[i], to_strides[axis]});
  }
  return loops;
}

// A tensor of `from`'s shape, of which a part is copied, and one of `to`'s: the loops are over
// `part`, which is one of the two.
inline CopyLoops part_loops(const Shape& part, const Shape& from, const Shape& to) {
  const auto from_strides = strides_of(from);
  const auto to_strides = strides_of(to);
  CopyLoops loops;
  for (std::size_t axis = 0; axis < part.rank(); ++axis) {
    loops.add_axis(part[axis], {from_strides[axis], to_strides[axis]});
  }
  return loops;
}

// How far behind its first element the part lies in the whole.
inline std::int64_t offset_of(const Shape& part, const AxisNumbers& first, const Shape& whole) {
  ENSURE(part.rank() == whole.rank() && first.rank() == whole.rank());
  const auto strides = strides_of(whole);
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < whole.rank(); ++axis) {
    ENSURE(first[axis] + part[axis] <= whole[axis]);
    offset += first[axis] * strides[axis];
  }
  return offset;
}

// At `begin` of one axis, at 0 of all others.
inline AxisNumbers first_along(std::size_t rank, std::size_t axis, std::int64_t begin) {
  AxisNumbers first;
  for (std::size_t i = 0; i < rank; ++i) first.append(i == axis ? begin : 0);
  return first;
}

}  // namespace trainyard::runtime
