// Pools on a grid: a thread for each number.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/image_axis.h"
#include "runtime/graph/grid/row_sums.h"
#include "runtime/graph/kernels.h"

namespace trainyard::runtime {

template <class Grid>
void pool_max(Grid& grid, const Window& of, const ForwardCall& call) {
  const GridWindow window = grid_window(of);
  const std::int64_t channels = call.output.shape.columns();
  const FastDivision by_channels = fast_division(channels);
  const float* const x = call.inputs[0].data;
  float* const y = call.output.data;
  auto* const winners =
      call.pass == Pass::train ? reinterpret_cast<std::uint8_t*>(call.saved.data) : nullptr;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const ImageNumber at = window.of_output(i, by_channels);
    const std::int32_t first_row = window.height.first_of(at.row);
    const std::int32_t first_column = window.width.first_of(at.column);
    float best = 0.0F;
    std::int32_t winner = -1;
    for (std::int32_t tap_row = 0; tap_row < window.height.kernel; ++tap_row) {
      const std::int32_t row = first_row + tap_row * window.height.dilation;
      if (!window.height.has(row)) continue;
      for (std::int32_t tap = 0; tap < window.width.kernel; ++tap) {
        const std::int32_t column = first_column + tap * window.width.dilation;
        if (!window.width.has(column)) continue;
        const float value = x[window.x_pixel(at.example, row, column) * channels + at.channel];
        if (winner >= 0 && !(best < value)) continue;
        best = value;
        winner = tap_row * window.width.kernel + tap;
      }
    }
    y[i] = best;
    if (winners != nullptr) winners[i] = static_cast<std::uint8_t>(winner);
  });
}

template <class Grid>
void pool_max_back(Grid& grid, const Window& of, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  const GridWindow window = grid_window(of);
  const std::int64_t channels = call.output_gradient.shape.columns();
  const FastDivision by_channels = fast_division(channels);
  const auto* const winners = reinterpret_cast<const std::uint8_t*>(call.saved.data);
  const float* const upstream = call.output_gradient.data;
  float* const to = target.into.data;
  const Write write = target.write;
  grid.each(target.into.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const ImageNumber at = window.of_x(i, by_channels);
    float sum = write == Write::add ? to[i] : 0.0F;
    for (std::int32_t tap_row = window.height.kernel - 1; tap_row >= 0; --tap_row) {
      const std::int32_t row = window.height.reader(at.row, tap_row);
      if (row < 0) continue;
      for (std::int32_t tap = window.width.kernel - 1; tap >= 0; --tap) {
        const std::int32_t column = window.width.reader(at.column, tap);
        if (column < 0) continue;
        const std::int64_t from =
            window.output_pixel(at.example, row, column) * channels + at.channel;
        if (winners[from] == tap_row * window.width.kernel + tap) sum += upstream[from];
      }
    }
    to[i] = sum;
  });
}

template <class Grid>
void pool_mean(Grid& grid, const Window& of, const ForwardCall& call) {
  const GridWindow window = grid_window(of);
  const std::int64_t channels = call.output.shape.columns();
  const FastDivision by_channels = fast_division(channels);
  const float* const x = call.inputs[0].data;
  float* const y = call.output.data;
  grid.each(call.output.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const ImageNumber at = window.of_output(i, by_channels);
    const std::int32_t first_row = window.height.first_of(at.row);
    const std::int32_t first_column = window.width.first_of(at.column);
    float sum = 0.0F;
    for (std::int32_t tap_row = 0; tap_row < window.height.kernel; ++tap_row) {
      const std::int32_t row = first_row + tap_row * window.height.dilation;
      if (!window.height.has(row)) continue;
      for (std::int32_t tap = 0; tap < window.width.kernel; ++tap) {
        const std::int32_t column = first_column + tap * window.width.dilation;
        if (!window.width.has(column)) continue;
        sum += x[window.x_pixel(at.example, row, column) * channels + at.channel];
      }
    }
    const std::int32_t taps =
        window.height.taps_inside(at.row) * window.width.taps_inside(at.column);
    y[i] = sum / static_cast<float>(taps);
  });
}

template <class Grid>
void pool_mean_back(Grid& grid, const Window& of, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  const GridWindow window = grid_window(of);
  const std::int64_t channels = call.output_gradient.shape.columns();
  const FastDivision by_channels = fast_division(channels);
  const float* const upstream = call.output_gradient.data;
  float* const to = target.into.data;
  const Write write = target.write;
  grid.each(target.into.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const ImageNumber at = window.of_x(i, by_channels);
    float sum = write == Write::add ? to[i] : 0.0F;
    for (std::int32_t tap_row = window.height.kernel - 1; tap_row >= 0; --tap_row) {
      const std::int32_t row = window.height.reader(at.row, tap_row);
      if (row < 0) continue;
      const std::int32_t rows_inside = window.height.taps_inside(row);
      for (std::int32_t tap = window.width.kernel - 1; tap >= 0; --tap) {
        const std::int32_t column = window.width.reader(at.column, tap);
        if (column < 0) continue;
        const std::int64_t from =
            window.output_pixel(at.example, row, column) * channels + at.channel;
        const std::int32_t taps = rows_inside * window.width.taps_inside(column);
        sum += upstream[from] / static_cast<float>(taps);
      }
    }
    to[i] = sum;
  });
}

// Pixels of an example, whatever its axes are.
inline std::int64_t pixels_of_example(const Shape& x) { return x[0] == 0 ? 1 : x.rows() / x[0]; }

template <class Grid>
void pool_all(Grid& grid, const ForwardCall& call) {
  const Shape& shape = call.inputs[0].shape;
  const std::int64_t channels = shape.columns();
  const std::int64_t pixels = pixels_of_example(shape);
  const float* const x = call.inputs[0].data;
  const float* const sums =
      sum_over_rows(grid, shape[0], pixels, channels, 1, call.scratch,
                    [=] TRAINYARD_KERNEL(std::int64_t example, std::int64_t pixel,
                                         std::int64_t channel, std::int64_t) {
                      return x[(example * pixels + pixel) * channels + channel];
                    });
  float* const y = call.output.data;
  const auto count = static_cast<float>(pixels);
  grid.each(shape[0] * channels, [=] TRAINYARD_KERNEL(std::int64_t i) { y[i] = sums[i] / count; });
}

template <class Grid>
void pool_all_back(Grid& grid, const BackwardCall& call) {
  const GradientTarget& target = call.input_gradients[0];
  const Shape& shape = target.into.shape;
  const std::int64_t channels = shape.columns();
  const std::int64_t pixels = pixels_of_example(shape);
  const FastDivision by_channels = fast_division(channels);
  const FastDivision by_pixels = fast_division(pixels);
  const float* const upstream = call.output_gradient.data;
  float* const to = target.into.data;
  const Write write = target.write;
  const auto count = static_cast<float>(pixels);
  grid.each(target.into.elements(), [=] TRAINYARD_KERNEL(std::int64_t i) {
    const std::int64_t pixel = by_channels.quotient_of(i);
    const std::int64_t channel = i - pixel * channels;
    const std::int64_t from = by_pixels.quotient_of(pixel) * channels + channel;
    const float before = write == Write::add ? to[i] : 0.0F;
    to[i] = before + upstream[from] / count;
  });
}

}  // namespace trainyard::runtime
