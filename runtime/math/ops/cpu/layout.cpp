#include "runtime/math/ops/layout.h"

#include <algorithm>

#include "runtime/math/ops/cpu/layout_loops.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

// to = the part of `whole` at `first`.
void take_part(ConstTensor whole, const AxisNumbers& first, Tensor to, Write write) {
  strided_copy(part_loops(to.shape, whole.shape, to.shape),
               whole.data + offset_of(to.shape, first, whole.shape), to.data, write);
}

// The part of `whole` at `first` = from.
void put_part(ConstTensor from, const AxisNumbers& first, Tensor whole, Write write) {
  strided_copy(part_loops(from.shape, from.shape, whole.shape), from.data,
               whole.data + offset_of(from.shape, first, whole.shape), write);
}

}  // namespace

void transpose(ConstTensor x, const AxisNumbers& axes, Tensor y) {
  strided_copy(transpose_loops(x.shape, axes, y.shape), x.data, y.data, Write::overwrite);
}

void transpose_gradient(ConstTensor y_gradient, const AxisNumbers& axes, Tensor x_gradient,
                        Write write) {
  strided_copy(transpose_back_loops(y_gradient.shape, axes, x_gradient.shape), y_gradient.data,
               x_gradient.data, write);
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
