// Pooling of images [examples, height, width, channels], channel by channel. Every window meets the
// image: a window of padding alone is the caller's mistake.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/math/ops/window.h"
#include "runtime/math/tensor.h"

namespace trainyard::runtime {

inline constexpr std::int64_t max_pool_taps_max = std::int64_t{15} * 15;  // a winner is one byte

// y [examples, output height, output width, channels] = the largest value of each window: the
// first, by row and column, of equal ones. A value takes the place of those before it where they
// are less than it, so NaN loses unless it comes first. winners: as many as y has values, each the
// tap (row * kernel width + column) that won; without elements: not wanted. Padding never wins.
void max_pool2d(const Window& window, ConstTensor x, Tensor y, std::span<std::uint8_t> winners);

// Each value of the output's gradient goes to its winner; those of a pixel are added in the order
// of the outputs.
void max_pool2d_gradient(const Window& window, std::span<const std::uint8_t> winners,
                         ConstTensor y_gradient, Tensor x_gradient, Write write);

// y = the mean of the pixels of each window, without padding (PyTorch: count_include_pad = false):
// added by row and column, then divided by their number.
void avg_pool2d(const Window& window, ConstTensor x, Tensor y);
void avg_pool2d_gradient(const Window& window, ConstTensor y_gradient, Tensor x_gradient,
                         Write write);

// y [examples, channels] = the mean over all pixels of x [examples, .., channels], which are added
// as sum_rows adds rows.
void global_avg_pool(ConstTensor x, Tensor y);
void global_avg_pool_gradient(ConstTensor y_gradient, Tensor x_gradient, Write write);

}  // namespace trainyard::runtime
