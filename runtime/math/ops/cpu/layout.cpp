#include "runtime/math/ops/layout.h"

#include <algorithm>

#include "runtime/math/ops/cpu/strided.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

std::int64_t offset_of(const AxisNumbers& first, const Shape& shape) {
  const auto strides = strides_of(shape);
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis) offset += first[axis] * strides[axis];
  return offset;
}

// Where the part lies in the whole.
void require_within(const Shape& part, const AxisNumbers& first, const Shape& whole) {
  ENSURE(part.rank() == whole.rank() && first.rank() == whole.rank());
  for (std::size_t axis = 0; axis < whole.rank(); ++axis) {
    ENSURE(first[axis] + part[axis] <= whole[axis]);
  }
}

// to = the part of `whole` at `first`.
void take_part(ConstTensor whole, const AxisNumbers& first, Tensor to, Write write) {
  require_within(to.shape, first, whole.shape);
  const auto from_strides = strides_of(whole.shape);
  const auto to_strides = strides_of(to.shape);
  CopyLoops loops;
  for (std::size_t axis = 0; axis < to.shape.rank(); ++axis) {
    loops.add_axis(to.shape[axis], {from_strides[axis], to_strides[axis]});
  }
  strided_copy(loops, whole.data + offset_of(first, whole.shape), to.data, write);
}

// The part of `whole` at `first` = from.
void put_part(ConstTensor from, const AxisNumbers& first, Tensor whole, Write write) {
  require_within(from.shape, first, whole.shape);
  const auto from_strides = strides_of(from.shape);
  const auto to_strides = strides_of(whole.shape);
  CopyLoops loops;
  for (std::size_t axis = 0; axis < from.shape.rank(); ++axis) {
    loops.add_axis(from.shape[axis], {from_strides[axis], to_strides[axis]});
  }
  strided_copy(loops, from.data, whole.data + offset_of(first, whole.shape), write);
}

// At `begin` of one axis, at 0 of all others.
AxisNumbers first_along(std::size_t rank, std::size_t axis, std::int64_t begin) {
  AxisNumbers first;
  for (std::size_t i = 0; i < rank; ++i) first.append(i == axis ? begin : 0);
  return first;
}

}  // namespace

void transpose(ConstTensor x, const AxisNumbers& axes, Tensor y) {
  ENSURE(axes.rank() == x.shape.rank() && axes.rank() == y.shape.rank());
  const auto from_strides = strides_of(x.shape);
  const auto to_strides = strides_of(y.shape);
  CopyLoops loops;
  for (std::size_t i = 0; i < axes.rank(); ++i) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    ENSURE(axis < x.shape.rank() && y.shape[i] == x.shape[axis]);
    loops.add_axis(y.shape[i], {from_strides[axis], to_strides[i]});
  }
  strided_copy(loops, x.data, y.data, Write::overwrite);
}

void transpose_gradient(ConstTensor y_gradient, const AxisNumbers& axes, Tensor x_gradient,
                        Write write) {
  ENSURE(axes.rank() == y_gradient.shape.rank() && axes.rank() == x_gradient.shape.rank());
  const auto from_strides = strides_of(y_gradient.shape);
  const auto to_strides = strides_of(x_gradient.shape);
  CopyLoops loops;
  for (std::size_t axis = 0; axis < axes.rank(); ++axis) {
    const auto sizes = axes.sizes();
    const auto found = std::ranges::find(sizes, static_cast<std::int64_t>(axis));
    ENSURE(found != sizes.end());
    const auto i = static_cast<std::size_t>(found - sizes.begin());
    ENSURE(y_gradient.shape[i] == x_gradient.shape[axis]);
    loops.add_axis(x_gradient.shape[axis], {from_strides[i], to_strides[axis]});
  }
  strided_copy(loops, y_gradient.data, x_gradient.data, write);
}

void slice(ConstTensor x, const AxisNumbers& first, Tensor y) {
  take_part(x, first, y, Write::overwrite);
}

void slice_gradient(ConstTensor y_gradient, const AxisNumbers& first, Tensor x_gradient,
                    Write write) {
  if (write == Write::overwrite) std::ranges::fill(x_gradient.span(), 0.0F);
  put_part(y_gradient, first, x_gradient, write);
}

void pad(ConstTensor x, const AxisNumbers& first, float value, Tensor y) {
  std::ranges::fill(y.span(), value);
  put_part(x, first, y, Write::overwrite);
}

void pad_gradient(ConstTensor y_gradient, const AxisNumbers& first, Tensor x_gradient,
                  Write write) {
  take_part(y_gradient, first, x_gradient, write);
}

void concat(std::span<const ConstTensor> inputs, std::size_t axis, Tensor y) {
  std::int64_t begin = 0;
  for (const ConstTensor& input : inputs) {
    put_part(input, first_along(y.shape.rank(), axis, begin), y, Write::overwrite);
    begin += input.shape[axis];
  }
  ENSURE(begin == y.shape[axis]);
}

void concat_gradient(ConstTensor y_gradient, std::size_t axis, std::int64_t begin,
                     Tensor x_gradient, Write write) {
  take_part(y_gradient, first_along(y_gradient.shape.rank(), axis, begin), x_gradient, write);
}

}  // namespace trainyard::runtime
