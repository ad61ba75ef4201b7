// Convolutions of each channel by itself on a grid (math/ops/depthwise_conv.h says in which order
// they add).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/graph/grid/image_axis.h"
#include "runtime/graph/grid/row_sums.h"
#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
void convolve_channels(Grid& grid, const Window& of, const ForwardCall& call) {
  const GridWindow window = grid_window(of);
  const std::int64_t in = call.inputs[0].shape.columns();
  const std::int64_t out = call.output.shape.columns();
  const FastDivision by_out = fast_division(out);
  const FastDivision by_multiplier = fast_division(out / in);
  const float* const x = call.inputs[0].data;
  const float* const kernel = call.inputs[1].data;
  const float* const bias = call.inputs.size() == 3 ? call.inputs[2].data : nullptr;
  float* const y = call.output.data;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const ImageNumber at = window.of_output(i, by_out);
    const std::int32_t channel = by_multiplier.quotient(at.channel);
    const std::int32_t first_row = window.height.first_of(at.row);
    const std::int32_t first_column = window.width.first_of(at.column);
    float sum = 0.0F;
    for (std::int32_t tap_row = 0; tap_row < window.height.kernel; ++tap_row) {
      const std::int32_t row = first_row + tap_row * window.height.dilation;
      if (!window.height.has(row)) continue;
      for (std::int32_t tap = 0; tap < window.width.kernel; ++tap) {
        const std::int32_t column = first_column + tap * window.width.dilation;
        if (!window.width.has(column)) continue;
        sum = std::fma(x[window.x_pixel(at.example, row, column) * in + channel],
                       kernel[(tap_row * window.width.kernel + tap) * out + at.channel], sum);
      }
    }
    y[i] = bias == nullptr ? sum : bias[at.channel] + sum;
  });
}

template <class Grid>
void convolve_channels_back_to_x(Grid& grid, const Window& of, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  const GridWindow window = grid_window(of);
  const std::int64_t in = target.into.shape.columns();
  const std::int64_t out = call.output_gradient.shape.columns();
  const std::int64_t multiplier = out / in;
  const FastDivision by_in = fast_division(in);
  const float* const upstream = call.output_gradient.data;
  const float* const kernel = call.inputs[1].data;
  float* const to = target.into.data;
  const Write write = target.write;
  grid.each(target.into.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const ImageNumber at = window.of_x(i, by_in);
    float sum = 0.0F;
    for (std::int32_t tap_row = window.height.kernel - 1; tap_row >= 0; --tap_row) {
      const std::int32_t row = window.height.reader(at.row, tap_row);
      if (row < 0) continue;
      for (std::int32_t tap = window.width.kernel - 1; tap >= 0; --tap) {
        const std::int32_t column = window.width.reader(at.column, tap);
        if (column < 0) continue;
        const std::int64_t first = at.channel * multiplier;
        const float* const a =
            upstream + window.output_pixel(at.example, row, column) * out + first;
        const float* const b = kernel + (tap_row * window.width.kernel + tap) * out + first;
        for (std::int64_t j = 0; j < multiplier; ++j) sum = std::fma(a[j], b[j], sum);
      }
    }
    to[i] = write == Write::add ? to[i] + sum : sum;
  });
}

// A chain over each row of output, of some examples' rows at a time, and then those in their order.
struct ChannelRows {
  GridWindow window;
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t first = 0;  // of all examples' rows of output
  std::int64_t count = 0;
  FastDivision by_out = {};
  FastDivision by_multiplier = {};
  FastDivision by_taps = {};  // of a row of the kernel

  // The row of x that a row of the kernel meets, below 0: none.
  [[nodiscard]] TRAINYARD_BOTH std::int64_t x_row(std::int64_t line, std::int32_t tap_row) const {
    const std::int64_t example = window.height.by_outputs.quotient_of(line);
    const auto out_row = static_cast<std::int32_t>(line - example * window.height.outputs);
    const std::int32_t row = window.height.first_of(out_row) + tap_row * window.height.dilation;
    return window.height.has(row) ? example * window.height.pixels + row : -1;
  }

  [[nodiscard]] TRAINYARD_BOTH float chain(const float* x, const float* upstream, std::int64_t line,
                                           std::int64_t element) const {
    const std::int64_t tap = by_out.quotient_of(element);
    const std::int64_t channel = element - tap * out;
    const auto tap_row = static_cast<std::int32_t>(by_taps.quotient_of(tap));
    const auto tap_column = static_cast<std::int32_t>(tap - tap_row * window.width.kernel);
    const std::int64_t row = x_row(line, tap_row);
    if (row < 0) return -0.0F;  // which changes no sum, not even the sign of a zero
    float sum = 0.0F;
    const float* const from =
        x + row * window.width.pixels * in + by_multiplier.quotient_of(channel);
    const float* const by = upstream + line * window.width.outputs * out + channel;
    std::int32_t place = tap_column * window.width.dilation - window.width.before;
    for (std::int32_t column = 0; column < window.width.outputs; ++column) {
      if (window.width.has(place)) sum = std::fma(from[place * in], by[column * out], sum);
      place += window.width.stride;
    }
    return sum;
  }
};

inline constexpr std::int64_t channel_rows_scratch_max = std::int64_t{1} << 23;

// Rows whose chains lie in the scratch at a time.
inline std::int64_t channel_rows_at_once(std::int64_t rows, std::int64_t elements) {
  return std::max<std::int64_t>(1, std::min(rows, channel_rows_scratch_max / elements));
}

inline Needs channels_needs(const Window& window, const Shape& kernel, const Shape& output) {
  const std::int64_t elements = kernel.elements();
  const std::int64_t rows = output[0] * window.height.outputs();
  return {.scratch = std::max(channel_rows_at_once(rows, elements) * elements,
                              row_sums_scratch(output.rows(), output.columns()))};
}

template <class Grid>
void add_channel_rows(Grid& grid, const ChannelRows& rows, const BackwardCall& call,
                      const Write write) {
  const std::int64_t elements = call.input_gradients[1].into.elements();
  const FastDivision by_elements = fast_division(elements);
  const float* const x = call.inputs[0].data;
  const float* const upstream = call.output_gradient.data;
  float* const chains = call.scratch.data;  // [rows, elements]
  grid.each(rows.count * elements, [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t line = by_elements.quotient_of(i);
    chains[i] = rows.chain(x, upstream, rows.first + line, i - line * elements);
  });
  float* const to = call.input_gradients[1].into.data;
  const std::int64_t count = rows.count;
  grid.each(elements, [=] TRAINYARD_KERNEL(std::int64_t i) {
    float sum = write == Write::add ? to[i] : 0.0F;
    constexpr int ahead = 16;
    for (std::int64_t first = 0; first < count; first += ahead) {
      float values[ahead];
#pragma unroll
      for (int k = 0; k < ahead; ++k) {
        values[k] = first + k < count ? chains[(first + k) * elements + i] : -0.0F;
      }
#pragma unroll
      for (int k = 0; k < ahead; ++k) sum += values[k];
    }
    to[i] = sum;
  });
}

template <class Grid>
void convolve_channels_back_to_kernel(Grid& grid, const Window& of, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[1];
  const std::int64_t in = call.inputs[0].shape.columns();
  const std::int64_t out = call.output_gradient.shape.columns();
  const std::int64_t all = call.output_gradient.shape[0] * of.height.outputs();
  const std::int64_t some = channel_rows_at_once(all, target.into.elements());
  ChannelRows rows{.window = grid_window(of),
                   .in = in,
                   .out = out,
                   .by_out = fast_division(out),
                   .by_multiplier = fast_division(out / in),
                   .by_taps = fast_division(of.width.kernel)};
  std::int64_t first = 0;
  do {
    rows.first = first;
    rows.count = std::min(some, all - first);
    add_channel_rows(grid, rows, call, first == 0 ? target.write : Write::add);
    first += some;
  } while (first < all);
}

}  // namespace trainyard::runtime
