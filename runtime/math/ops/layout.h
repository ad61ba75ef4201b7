// The same numbers at other places. Nothing is computed; gradients are the same, the other way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// A number, 0 or more, for each of some axes.
using AxisNumbers = Shape;

// y's axis i is x's axis axes[i]; a number for each axis. y overlaps nothing.
void transpose(ConstTensor x, const AxisNumbers& axes, Tensor y);
void transpose_gradient(ConstTensor y_gradient, const AxisNumbers& axes, Tensor x_gradient,
                        Write write);

// A place in a tensor where a smaller one of the same rank lies: a number for each axis.
// y = what of x lies at `first`, as much as y has room for.
void slice(ConstTensor x, const AxisNumbers& first, Tensor y);
// Elsewhere x_gradient is 0, or stays where it is added to.
void slice_gradient(ConstTensor y_gradient, const AxisNumbers& first, Tensor x_gradient,
                    Write write);

// y = x at `first`, and `value` around it.
void pad(ConstTensor x, const AxisNumbers& first, float value, Tensor y);
void pad_gradient(ConstTensor y_gradient, const AxisNumbers& first, Tensor x_gradient, Write write);

// y = the inputs, one behind the other along `axis`.
void concat(std::span<const ConstTensor> inputs, std::size_t axis, Tensor y);
// Of the input that lies from `begin` on.
void concat_gradient(ConstTensor y_gradient, std::size_t axis, std::int64_t begin,
                     Tensor x_gradient, Write write);

}  // namespace trainyard::runtime
