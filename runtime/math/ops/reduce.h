// Sums, means and largest values over some axes, and what flows back.
//
// The order of a sum depends on the sizes of the axes alone. Axes of size 1 are left out, and
// neighbours that are both reduced, or both stay, are one axis. Then one reduced axis after another
// is summed, the last one first: as sum() adds where nothing lies behind it, else as sum_rows()
// does (reduction.h).
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/ops/layout.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

// Elements of scratch for reduce_sum of a tensor of this shape.
std::int64_t reduce_scratch(const Shape& shape, const AxisNumbers& axes);

// y = the sum of x over `axes`. y has the other axes in their order; those of size 1 do not matter.
void reduce_sum(ConstTensor x, const AxisNumbers& axes, Tensor y, Write write,
                std::span<float> scratch);

// y = the sum over `axes`, divided by the number of elements.
void reduce_mean(ConstTensor x, const AxisNumbers& axes, Tensor y, std::span<float> scratch);

// y = the largest value over `axes`, by a < b ? b : a in their order: of equal ones the first; NaN
// loses unless it comes first. places [elements of y]: where it lies behind the first that it was
// compared with, as the bits of a 32-bit number.
void reduce_max(ConstTensor x, const AxisNumbers& axes, Tensor y, Tensor places);

// Each number of x gets the y_gradient of the sum, or mean, that it is in. scratch: as many
// elements as y has, for a mean.
void reduce_sum_gradient(ConstTensor y_gradient, const AxisNumbers& axes, Tensor x_gradient,
                         Write write);
void reduce_mean_gradient(ConstTensor y_gradient, const AxisNumbers& axes, Tensor x_gradient,
                          Write write, std::span<float> scratch);

// Only the largest get it.
void reduce_max_gradient(ConstTensor y_gradient, ConstTensor places, const AxisNumbers& axes,
                         Tensor x_gradient, Write write);

}  // namespace trainyard::runtime
