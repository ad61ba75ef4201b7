// Convolutions on a grid, as products (math/ops/conv.h says in which order they add).
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/graph/grid/countable.h"
#include "runtime/graph/grid/gemm.h"
#include "runtime/graph/grid/image_taps.h"
#include "runtime/graph/grid/library_conv.h"
#include "runtime/graph/grid/row_sums.h"
#include "runtime/graph/kernels.h"
#include "runtime/math/ops/conv.h"

namespace trainyard::runtime {

inline Conv2d conv_of(const Window& window, const Shape& x, const Shape& y) {
  return {.window = window, .channels = x.columns(), .filters = y.columns()};
}

// Calls visit(height, width) for x's pixels of each pair of remainders by the strides: the same
// taps of the kernel have read them.
template <class Visit>
void for_each_phase(const Window& window, Visit visit) {
  const std::int64_t rows = std::min(window.height.stride, window.height.pixels);
  const std::int64_t columns = std::min(window.width.stride, window.width.pixels);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      visit(gradient_axis(window.height, row), gradient_axis(window.width, column));
    }
  }
}

inline Needs conv_needs(const Conv2d& conv, std::int64_t examples) {
  const Window& window = conv.window;
  const std::int64_t pixels = examples * window.outputs();
  std::int64_t most =
      std::max({gemm_scratch(pixels, conv.filters, cuts_of(conv.depth()).count()),
                gemm_scratch(conv.depth(), conv.filters, line_cuts(window, examples).count()),
                row_sums_scratch(pixels, conv.filters)});
  for_each_phase(window, [&](const TapAxis& height, const TapAxis& width) {
    const std::int64_t cuts = tap_cuts(window, height, width, conv.filters).count();
    const std::int64_t rows = examples * height.outputs * width.outputs;
    most = std::max(most, gemm_scratch(rows, conv.channels, cuts));
  });
  return {.scratch = most};
}

// As it was asked for with the room.
inline void ensure_countable(const Conv2d& conv, std::int64_t examples) {
  constexpr std::int64_t most = countable_max;
  ENSURE(examples * conv.window.outputs() <= most && examples * conv.window.pixels() <= most);
  ENSURE(conv.window.taps() * std::max(conv.channels, conv.filters) <= most);
}

// A row for each window, a column for each filter.
using WindowsProduct = GridProduct<TapsOfWindows, Strided>;
inline WindowsProduct windows_product(const Conv2d& conv, const ForwardCall& call) {
  const std::int64_t examples = call.output.shape[0];
  ensure_countable(conv, examples);
  const TapImage image = tap_image(call.inputs[0].data, forward_axis(conv.window.height),
                                   forward_axis(conv.window.width), conv.channels);
  return {.rows = examples * conv.window.outputs(),
          .columns = conv.filters,
          .cuts = cuts_of(conv.depth()),
          .left = {.image = image},
          .right = {.data = call.inputs[1].data, .outer = 1, .along = conv.filters},
          .bias = call.inputs.size() == 3 ? call.inputs[2].data : nullptr,
          .out = call.output.data,
          .out_stride = conv.filters};
}

template <class Grid>
void convolve(Grid& grid, const Conv2d& conv, const ForwardCall& call) {
  const LibraryConv of{.conv = conv, .examples = call.output.shape[0], .pass = ConvPass::forward};
  const auto forward = [&](auto&& on_library) { on_library.forward(call); };
  if (convolve_by_library(grid, of, call.scratch, forward)) return;
  multiply(grid, windows_product(conv, call), call.scratch);
}

template <class Grid>
void convolve_back_to_x(Grid& grid, const Conv2d& conv, const BackwardCall& call) {
  const GradientTarget& x = call.input_gradients[0];
  const Window& window = conv.window;
  const std::int64_t examples = call.output_gradient.shape[0];
  const LibraryConv of{.conv = conv, .examples = examples, .pass = ConvPass::x_gradient};
  const auto x_gradient = [&](auto&& on_library) { on_library.x_gradient(call); };
  if (convolve_by_library(grid, of, call.scratch, x_gradient)) return;
  const std::int64_t pixel = conv.channels * conv.filters;
  const std::int64_t row = window.width.kernel * pixel;
  ensure_countable(conv, examples);
  for_each_phase(window, [&](const TapAxis& height, const TapAxis& width) {
    const std::int64_t first_row = window.height.kernel - 1 - height.index_first;
    const std::int64_t first_column = window.width.kernel - 1 - width.index_first;
    multiply(
        grid,
        GridProduct<TapsOfWindows, FlippedKernel, TapCuts, PixelsApart>{
            .rows = examples * height.outputs * width.outputs,
            .columns = conv.channels,
            .cuts = tap_cuts(window, height, width, conv.filters),
            .left = {.image = tap_image(call.output_gradient.data, height, width, conv.filters)},
            .right = {.data = call.inputs[1].data + first_row * row + first_column * pixel,
                      .filters = static_cast<std::int32_t>(conv.filters),
                      .row_step = height.index_step * row,
                      .column_step = width.index_step * pixel,
                      .by_filters = fast_division(conv.filters),
                      .by_taps = fast_division(width.taps)},
            .out = x.into.data,
            .out_stride = conv.channels,
            .write = x.write,
            .rows_at = pixels_apart(window, height, width)},
        call.scratch);
  });
}

template <class Grid>
void convolve_back_to_kernel(Grid& grid, const Conv2d& conv, const BackwardCall& call) {
  const GradientTarget& kernel = call.input_gradients[1];
  const std::int64_t examples = call.output_gradient.shape[0];
  const LibraryConv of{.conv = conv, .examples = examples, .pass = ConvPass::kernel_gradient};
  const auto kernel_gradient = [&](auto&& on_library) { on_library.kernel_gradient(call); };
  if (convolve_by_library(grid, of, call.scratch, kernel_gradient)) return;
  ensure_countable(conv, examples);
  const TapImage image = tap_image(call.inputs[0].data, forward_axis(conv.window.height),
                                   forward_axis(conv.window.width), conv.channels);
  multiply(grid,
           GridProduct<WindowsOfTaps, Strided, LineCuts>{
               .rows = conv.depth(),
               .columns = conv.filters,
               .cuts = line_cuts(conv.window, examples),
               .left = {.image = image},
               .right = {.data = call.output_gradient.data, .outer = 1, .along = conv.filters},
               .out = kernel.into.data,
               .out_stride = conv.filters,
               .write = kernel.write},
           call.scratch);
}

template <class Grid>
void add_up_filter_bias(Grid& grid, const BackwardCall& call) {
  if (call.inputs.size() != 3 || call.input_gradients[2].into.data == nullptr) return;
  const GradientTarget& bias = call.input_gradients[2];
  sum_rows_on(grid, call.output_gradient, bias.into, bias.write, call.scratch);
}

}  // namespace trainyard::runtime
