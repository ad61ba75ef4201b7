// A window's axis (math/ops/window.h) as kernels with a thread for each number read it: in 32 bits,
// without divisions.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/fast_division.h"
#include "runtime/math/ops/window.h"

namespace trainyard::runtime {

struct GridAxis {
  std::int32_t pixels = 1;
  std::int32_t kernel = 1;
  std::int32_t stride = 1;
  std::int32_t before = 0;
  std::int32_t dilation = 1;
  std::int32_t outputs = 1;
  FastDivision by_pixels = {};
  FastDivision by_outputs = {};
  FastDivision by_stride = {};
  FastDivision by_dilation = {};

  [[nodiscard]] TRAINYARD_BOTH std::int32_t first_of(std::int32_t output) const {
    return output * stride - before;
  }
  [[nodiscard]] TRAINYARD_BOTH bool has(std::int32_t pixel) const {
    return pixel >= 0 && pixel < pixels;
  }
  // The output whose tap this pixel is, below 0: there is none. Taps from the last to the first
  // have their outputs in order.
  [[nodiscard]] TRAINYARD_BOTH std::int32_t reader(std::int32_t pixel, std::int32_t tap) const {
    const std::int32_t distance = pixel + before - tap * dilation;
    if (distance < 0) return -1;
    const std::int32_t output = by_stride.quotient(distance);
    return output * stride == distance && output < outputs ? output : -1;
  }
  // Taps of an output that meet the image.
  [[nodiscard]] TRAINYARD_BOTH std::int32_t taps_inside(std::int32_t output) const {
    const std::int32_t first = first_of(output);
    return taps_up_to(pixels - first) - taps_up_to(-first);
  }

 private:
  [[nodiscard]] TRAINYARD_BOTH std::int32_t taps_up_to(std::int32_t distance) const {
    if (distance <= 0) return 0;
    const std::int32_t taps = by_dilation.quotient(distance + dilation - 1);
    return taps < kernel ? taps : kernel;
  }
};

inline GridAxis grid_axis(const WindowAxis& axis) {
  return {.pixels = static_cast<std::int32_t>(axis.pixels),
          .kernel = static_cast<std::int32_t>(axis.kernel),
          .stride = static_cast<std::int32_t>(axis.stride),
          .before = static_cast<std::int32_t>(axis.before),
          .dilation = static_cast<std::int32_t>(axis.dilation),
          .outputs = static_cast<std::int32_t>(axis.outputs()),
          .by_pixels = fast_division(axis.pixels),
          .by_outputs = fast_division(axis.outputs()),
          .by_stride = fast_division(axis.stride),
          .by_dilation = fast_division(axis.dilation)};
}

// A number of images [examples, rows, columns, channels].
struct ImageNumber {
  std::int64_t pixel = 0;  // of all examples
  std::int64_t example = 0;
  std::int32_t row = 0;
  std::int32_t column = 0;
  std::int32_t channel = 0;
};

// Of x's images, and of the outputs.
struct GridWindow {
  GridAxis height;
  GridAxis width;

  [[nodiscard]] TRAINYARD_BOTH ImageNumber of_x(std::int64_t i,
                                                const FastDivision& channels) const {
    return number(i, channels, height.by_pixels, width.by_pixels);
  }
  [[nodiscard]] TRAINYARD_BOTH ImageNumber of_output(std::int64_t i,
                                                     const FastDivision& channels) const {
    return number(i, channels, height.by_outputs, width.by_outputs);
  }
  // Pixels of all examples.
  [[nodiscard]] TRAINYARD_BOTH std::int64_t x_pixel(std::int64_t example, std::int32_t row,
                                                    std::int32_t column) const {
    return (example * height.pixels + row) * width.pixels + column;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t output_pixel(std::int64_t example, std::int32_t row,
                                                         std::int32_t column) const {
    return (example * height.outputs + row) * width.outputs + column;
  }

 private:
  static TRAINYARD_BOTH ImageNumber number(std::int64_t i, const FastDivision& channels,
                                           const FastDivision& rows, const FastDivision& columns) {
    ImageNumber number;
    number.pixel = channels.quotient_of(i);
    number.channel = static_cast<std::int32_t>(i - number.pixel * channels.divisor);
    const std::int64_t line = columns.quotient_of(number.pixel);
    number.column = static_cast<std::int32_t>(number.pixel - line * columns.divisor);
    number.example = rows.quotient_of(line);
    number.row = static_cast<std::int32_t>(line - number.example * rows.divisor);
    return number;
  }
};

inline GridWindow grid_window(const Window& window) {
  return {grid_axis(window.height), grid_axis(window.width)};
}

}  // namespace trainyard::runtime
