// A convolution's sides of a product: what the window's taps read of an image, without a matrix of
// it. The product's zeros for padding change no sum of finite values but the sign of a zero.
#pragma once

#include <cstdint>

#include "runtime/graph/grid/fast_division.h"
#include "runtime/graph/grid/quad.h"
#include "runtime/math/ops/cpu/gemm.h"
#include "runtime/math/ops/cpu/tap_axis.h"
#include "runtime/math/ops/window.h"

namespace trainyard::runtime {

// A half of an address in an image: a window's corner or a tap. The other half is added.
struct ImagePlace {
  std::int64_t at;
  std::int32_t row;
  std::int32_t column;
};

// Images [examples, rows, columns, channels] and the windows that go over them (tap_axis.h).
struct TapImage {
  const float* data = nullptr;
  std::int64_t image = 0;  // elements of an example
  std::int32_t rows = 0;
  std::int32_t columns = 0;
  std::int32_t channels = 1;
  std::int32_t row_stride = 1;  // from a window to the next
  std::int32_t column_stride = 1;
  std::int32_t first_row = 0;
  std::int32_t first_column = 0;
  std::int32_t row_step = 1;  // from a tap to the next
  std::int32_t column_step = 1;
  FastDivision by_windows = {};  // of an example
  FastDivision by_width = {};    // windows of a row
  FastDivision by_channels = {};
  FastDivision by_taps = {};  // of a row

  // The corner of the n-th window, of all examples.
  [[nodiscard]] TRAINYARD_BOTH ImagePlace window(std::int64_t n) const {
    const auto number = static_cast<std::int32_t>(n);
    const std::int32_t example = by_windows.quotient(number);
    const std::int32_t pixel = number - example * static_cast<std::int32_t>(by_windows.divisor);
    const std::int32_t row = by_width.quotient(pixel);
    const std::int32_t column = pixel - row * static_cast<std::int32_t>(by_width.divisor);
    ImagePlace place = between(row * row_stride + first_row, column * column_stride + first_column);
    place.at += example * image;
    return place;
  }

  // The n-th number of a window: (row, column, channel).
  [[nodiscard]] TRAINYARD_BOTH ImagePlace tap(std::int64_t n) const {
    const auto number = static_cast<std::int32_t>(n);
    const std::int32_t tap = by_channels.quotient(number);
    const std::int32_t channel = number - tap * static_cast<std::int32_t>(by_channels.divisor);
    const std::int32_t row = by_taps.quotient(tap);
    const std::int32_t column = tap - row * static_cast<std::int32_t>(by_taps.divisor);
    ImagePlace place = between(row * row_step, column * column_step);
    place.at += channel;
    return place;
  }

  [[nodiscard]] TRAINYARD_BOTH float read(const ImagePlace& a, const ImagePlace& b) const {
    return is_inside(a, b) ? data[a.at + b.at] : 0.0F;
  }

  // Whether from every fourth number of a window on four are neighbours, of one pixel.
  [[nodiscard]] TRAINYARD_BOTH bool has_quads() const { return channels % 4 == 0 && is_quad(data); }
  [[nodiscard]] TRAINYARD_BOTH Quad read_quad(const ImagePlace& a, const ImagePlace& b) const {
    return is_inside(a, b) ? *reinterpret_cast<const Quad*>(data + a.at + b.at) : Quad{};
  }

 private:
  [[nodiscard]] TRAINYARD_BOTH bool is_inside(const ImagePlace& a, const ImagePlace& b) const {
    return static_cast<std::uint32_t>(a.row + b.row) < static_cast<std::uint32_t>(rows) &&
           static_cast<std::uint32_t>(a.column + b.column) < static_cast<std::uint32_t>(columns);
  }
  [[nodiscard]] TRAINYARD_BOTH ImagePlace between(std::int32_t row, std::int32_t column) const {
    return {(std::int64_t{row} * columns + column) * channels, row, column};
  }
};

inline TapImage tap_image(const float* data, const TapAxis& height, const TapAxis& width,
                          std::int64_t channels) {
  const auto small = [](std::int64_t number) { return static_cast<std::int32_t>(number); };
  ENSURE(height.source * width.source <= fast_division_max);
  return {.data = data,
          .image = height.source * width.source * channels,
          .rows = small(height.source),
          .columns = small(width.source),
          .channels = small(channels),
          .row_stride = small(height.stride),
          .column_stride = small(width.stride),
          .first_row = small(height.first),
          .first_column = small(width.first),
          .row_step = small(height.step),
          .column_step = small(width.step),
          .by_windows = fast_division(height.outputs * width.outputs),
          .by_width = fast_division(width.outputs),
          .by_channels = fast_division(channels),
          .by_taps = fast_division(width.taps)};
}

// A row for each window, its taps along the depth.
struct TapsOfWindows {
  using Line = ImagePlace;
  using Place = ImagePlace;
  TapImage image;

  [[nodiscard]] TRAINYARD_BOTH static constexpr bool is_deep() { return true; }
  [[nodiscard]] TRAINYARD_BOTH Line line(std::int64_t, std::int64_t i) const {
    return image.window(i);
  }
  [[nodiscard]] TRAINYARD_BOTH Place place(std::int64_t depth) const { return image.tap(depth); }
  [[nodiscard]] TRAINYARD_BOTH float read(const Line& line, const Place& place) const {
    return image.read(line, place);
  }
  [[nodiscard]] TRAINYARD_BOTH bool has_quads() const { return image.has_quads(); }
  [[nodiscard]] TRAINYARD_BOTH Quad read_quad(const Line& line, const Place& place) const {
    return image.read_quad(line, place);
  }
};

// A row for each number of a window, the windows along the depth.
struct WindowsOfTaps {
  using Line = ImagePlace;
  using Place = ImagePlace;
  TapImage image;

  [[nodiscard]] TRAINYARD_BOTH static constexpr bool is_deep() { return false; }
  [[nodiscard]] TRAINYARD_BOTH Line line(std::int64_t, std::int64_t i) const {
    return image.tap(i);
  }
  [[nodiscard]] TRAINYARD_BOTH Place place(std::int64_t depth) const { return image.window(depth); }
  [[nodiscard]] TRAINYARD_BOTH float read(const Line& line, const Place& place) const {
    return image.read(line, place);
  }
  [[nodiscard]] TRAINYARD_BOTH bool has_quads() const { return image.has_quads(); }
  [[nodiscard]] TRAINYARD_BOTH Quad read_quad(const Line& line, const Place& place) const {
    return image.read_quad(line, place);
  }
};

// The kernel [row, column, channel, filter] as the gradient of x reads it: a column for each
// channel; depth (row, column, filter), of which rows and columns may be every other one,
// backwards.
struct FlippedKernel {
  using Line = const float*;
  using Place = std::int64_t;
  const float* data = nullptr;  // of the first row and column
  std::int32_t filters = 1;
  std::int64_t row_step = 0;  // elements, backwards
  std::int64_t column_step = 0;
  FastDivision by_filters = {};
  FastDivision by_taps = {};  // of a row

  [[nodiscard]] TRAINYARD_BOTH static constexpr bool is_deep() { return true; }
  [[nodiscard]] TRAINYARD_BOTH Line line(std::int64_t, std::int64_t i) const {
    return data + i * filters;
  }
  [[nodiscard]] TRAINYARD_BOTH Place place(std::int64_t depth) const {
    const auto number = static_cast<std::int32_t>(depth);
    const std::int32_t tap = by_filters.quotient(number);
    const std::int32_t row = by_taps.quotient(tap);
    const std::int32_t column = tap - row * static_cast<std::int32_t>(by_taps.divisor);
    return number - tap * filters - row * row_step - column * column_step;
  }
  [[nodiscard]] TRAINYARD_BOTH float read(Line line, Place place) const { return line[place]; }
  [[nodiscard]] TRAINYARD_BOTH bool has_quads() const {
    return filters % 4 == 0 && is_quad(data) && row_step % 4 == 0 && column_step % 4 == 0;
  }
  [[nodiscard]] TRAINYARD_BOTH Quad read_quad(Line line, Place place) const {
    return *reinterpret_cast<const Quad*>(line + place);
  }
};

// The blocks of the whole kernel's depth, of which the axes walk every other tap.
struct TapCuts {
  std::int64_t blocks = 1;
  std::int64_t each = 1;
  std::int64_t channels = 1;
  std::int64_t kernel_width = 1;
  std::int64_t rows = 0;  // that are walked: row_first + i * row_step
  std::int64_t row_first = 0;
  std::int64_t row_step = 1;
  std::int64_t columns = 0;
  std::int64_t column_first = 0;
  std::int64_t column_step = 1;

  [[nodiscard]] TRAINYARD_BOTH std::int64_t count() const { return blocks; }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t end(std::int64_t block) const {
    return begin(block + 1);
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t begin(std::int64_t block) const {
    if (block >= blocks) return rows * columns * channels;
    const std::int64_t tap = block * each / channels;  // of the whole kernel
    const std::int64_t row = tap / kernel_width;
    const std::int64_t column = tap % kernel_width;
    const std::int64_t rows_before = steps_below(row, row_first, row_step, rows);
    const bool is_row = rows_before < rows && row_first + rows_before * row_step == row;
    if (!is_row) return rows_before * columns * channels;
    const std::int64_t before = steps_below(column, column_first, column_step, columns);
    const bool is_column = before < columns && column_first + before * column_step == column;
    const std::int64_t channel = is_column ? block * each % channels : 0;
    return (rows_before * columns + before) * channels + channel;
  }

 private:
  // How many of first, first + step, .. (so many) are less than this one.
  static TRAINYARD_BOTH std::int64_t steps_below(std::int64_t number, std::int64_t first,
                                                 std::int64_t step, std::int64_t count) {
    if (number <= first) return 0;
    const std::int64_t below = (number - first + step - 1) / step;
    return below < count ? below : count;
  }
};

inline TapCuts tap_cuts(const Window& window, const TapAxis& height, const TapAxis& width,
                        std::int64_t channels) {
  const std::int64_t depth = window.taps() * channels;
  const std::int64_t each = depth_block_of(depth);
  return {.blocks = (depth + each - 1) / each,
          .each = each,
          .channels = channels,
          .kernel_width = window.width.kernel,
          .rows = height.taps,
          .row_first = height.index_first,
          .row_step = height.index_step,
          .columns = width.taps,
          .column_first = width.index_first,
          .column_step = width.index_step};
}

// The blocks of a kernel's gradient: lines of the depth (an example's pixels, or a row's where one
// alone is more than a block), each evenly cut.
struct LineCuts {
  std::int64_t lines = 1;
  std::int64_t pixels = 0;  // of a line
  std::int64_t each = 1;
  FastDivision by_blocks = {};  // of a line

  [[nodiscard]] TRAINYARD_BOTH std::int64_t count() const { return lines * by_blocks.divisor; }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t begin(std::int64_t block) const {
    const std::int64_t line = by_blocks.quotient_of(block);
    return line * pixels + (block - line * by_blocks.divisor) * each;
  }
  [[nodiscard]] TRAINYARD_BOTH std::int64_t end(std::int64_t block) const {
    const std::int64_t line = by_blocks.quotient_of(block);
    const std::int64_t end = (block - line * by_blocks.divisor + 1) * each;
    return line * pixels + (end < pixels ? end : pixels);
  }
};

inline LineCuts line_cuts(const Window& window, std::int64_t examples) {
  const std::int64_t width = window.width.outputs();
  const std::int64_t height = window.height.outputs();
  LineCuts cuts;
  if (examples == 0) return cuts;
  if (width > gemm_depth_block) {
    cuts = {.lines = examples * height, .pixels = width, .each = depth_block_of(width)};
  } else {
    const std::int64_t most = gemm_depth_block / width;
    const std::int64_t blocks = (height + most - 1) / most;
    cuts = {.lines = examples,
            .pixels = height * width,
            .each = (height + blocks - 1) / blocks * width};
  }
  cuts.by_blocks = fast_division((cuts.pixels + cuts.each - 1) / cuts.each);
  return cuts;
}

// Pixels of a target of which every stride-th one of an axis is written.
struct PixelsApart {
  std::int64_t image = 0;       // of an example
  std::int64_t first = 0;       // the first one that is written
  std::int64_t row_stride = 1;  // from one to the one below
  std::int64_t column_stride = 1;
  FastDivision by_outputs = {};  // of an example
  FastDivision by_width = {};

  [[nodiscard]] TRAINYARD_BOTH std::int64_t at(std::int64_t n) const {
    const auto number = static_cast<std::int32_t>(n);
    const std::int32_t example = by_outputs.quotient(number);
    const std::int32_t output = number - example * static_cast<std::int32_t>(by_outputs.divisor);
    const std::int32_t row = by_width.quotient(output);
    const std::int32_t column = output - row * static_cast<std::int32_t>(by_width.divisor);
    return example * image + first + row * row_stride + column * column_stride;
  }
};

inline PixelsApart pixels_apart(const Window& window, const TapAxis& height, const TapAxis& width) {
  return {.image = window.pixels(),
          .first = height.target_first * window.width.pixels + width.target_first,
          .row_stride = height.target_stride * window.width.pixels,
          .column_stride = width.target_stride,
          .by_outputs = fast_division(height.outputs * width.outputs),
          .by_width = fast_division(width.outputs)};
}

}  // namespace trainyard::runtime
