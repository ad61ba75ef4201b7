// Convolutions of many shapes with random values, and what a test runs them with.
#pragma once

#include <string>
#include <vector>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/cpu/conv.h"
#include "tests/runtime/math/floats.h"
#include "tests/runtime/math/image_window.h"

namespace trainyard::runtime {

struct ConvShape {
  std::int64_t examples;
  WindowAxis height;
  WindowAxis width;
  std::int64_t channels;
  std::int64_t filters;

  [[nodiscard]] Conv2d conv() const { return {{height, width}, channels, filters}; }
  [[nodiscard]] Shape x() const { return {examples, height.pixels, width.pixels, channels}; }
  [[nodiscard]] Shape kernel() const { return {height.kernel, width.kernel, channels, filters}; }
  [[nodiscard]] Shape y() const { return {examples, height.outputs(), width.outputs(), filters}; }
};

inline std::string text_of(const ConvShape& shape) {
  return text_of(shape.conv().window) + std::to_string(shape.examples) + " examples, " +
         std::to_string(shape.channels) + " -> " + std::to_string(shape.filters);
}

// Every axis beside every other, so that all pairs of them meet some channels and filters.
inline std::vector<ConvShape> small_conv_shapes() {
  const std::vector<WindowAxis> axes{
      {.pixels = 1},
      {.pixels = 7, .kernel = 3},
      {.pixels = 5, .kernel = 3, .before = 1, .after = 1},
      {.pixels = 9, .kernel = 5, .before = 2, .after = 2},
      {.pixels = 13, .kernel = 2, .before = 1},
      {.pixels = 8, .kernel = 3, .stride = 2, .after = 1},
      {.pixels = 11, .kernel = 4, .stride = 3, .before = 3, .after = 2},
      {.pixels = 6, .kernel = 1, .stride = 2},
      {.pixels = 10, .kernel = 3, .before = 2, .after = 2, .dilation = 2},
      {.pixels = 14, .kernel = 3, .stride = 2, .before = 1, .dilation = 3},
      {.pixels = 3, .kernel = 3, .stride = 4, .before = 5, .after = 6},
      {.pixels = 4, .kernel = 1, .before = 1, .after = 2}};
  constexpr std::int64_t channels[] = {1, 3, 4, 8, 17};
  constexpr std::int64_t filters[] = {1, 5, 8, 13, 16, 33, 40};
  std::vector<ConvShape> shapes;
  std::size_t at = 0;
  for (const WindowAxis& height : axes) {
    for (const WindowAxis& width : axes) {
      shapes.push_back({static_cast<std::int64_t>(1 + at % 3), height, width, channels[at % 5],
                        filters[at % 7]});
      ++at;
    }
  }
  return shapes;
}

// Beyond one block of the depth, one strip of an image, one panel of columns.
inline std::vector<ConvShape> large_conv_shapes() {
  const WindowAxis same{.pixels = 8, .kernel = 3, .before = 1, .after = 1};
  const auto sized = [](WindowAxis axis, std::int64_t pixels) {
    axis.pixels = pixels;
    return axis;
  };
  const WindowAxis halved{.pixels = 9, .kernel = 3, .stride = 2, .before = 1, .after = 1};
  const WindowAxis dilated{.pixels = 9, .kernel = 3, .before = 2, .after = 2, .dilation = 2};
  return {{3, same, same, 64, 40},
          {3, dilated, dilated, 53, 35},
          {2, same, {.pixels = 9, .kernel = 5, .before = 2, .after = 2}, 101, 6},
          {2, sized(same, 4), sized(same, 4), 130, 70},
          {5, halved, halved, 48, 36},
          {2, sized(same, 40), sized(same, 65), 33, 7},
          {1, sized(same, 3), sized(same, 700), 2, 5},
          {2, {.pixels = 2}, {.pixels = 30}, 700, 9},
          {1, {.pixels = 1}, {.pixels = 1400, .kernel = 9, .before = 4, .after = 4}, 1, 3},
          {1, sized(same, 5), sized(same, 300), 300, 4},
          {2, sized(same, 5), halved, 128, 24},
          {2, halved, sized(same, 6), 20, 256},
          {1, {.pixels = 30, .kernel = 5, .before = 2, .after = 2}, sized(same, 300), 5, 6}};
}

struct ConvValues {
  std::vector<float> x;
  std::vector<float> kernel;
  std::vector<float> bias;
  std::vector<float> y_gradient;
};

inline ConvValues conv_values(const ConvShape& shape) {
  const auto count = [](const Shape& of) { return static_cast<std::size_t>(of.elements()); };
  return {random_floats(count(shape.x()), 1), random_floats(count(shape.kernel()), 2),
          random_floats(static_cast<std::size_t>(shape.filters), 3),
          random_floats(count(shape.y()), 4)};
}

// Just what the pass asks for: the address sanitizer sees what is used beyond.
class ScratchMemory {
 public:
  explicit ScratchMemory(std::size_t bytes) : buffer_((bytes + 3) / sizeof(float)), bytes_(bytes) {}
  [[nodiscard]] std::span<std::byte> span() {
    return std::as_writable_bytes(buffer_.span()).first(bytes_);
  }

 private:
  AlignedBuffer buffer_;
  std::size_t bytes_;
};

inline std::vector<float> run_conv(const ConvShape& shape, const ConvValues& values,
                                   GemmKernel kernel = best_kernel(), const Threads& threads = {}) {
  std::vector<float> y(values.y_gradient.size());
  ScratchMemory scratch(conv2d_scratch_bytes(shape.conv(), ConvPass::forward, threads.count()));
  conv2d(shape.conv(),
         {.x = tensor_of(values.x, shape.x()),
          .kernel = tensor_of(values.kernel, shape.kernel()),
          .bias = tensor_of(values.bias, {shape.filters}),
          .y = tensor_of(y, shape.y()),
          .threads = threads},
         Scratch(scratch.span()), kernel);
  return y;
}

inline std::vector<float> run_conv_x_gradient(const ConvShape& shape, const ConvValues& values,
                                              GemmKernel kernel = best_kernel(),
                                              const Threads& threads = {}) {
  std::vector<float> x_gradient(values.x.size(), 7.0F);
  ScratchMemory scratch(conv2d_scratch_bytes(shape.conv(), ConvPass::x_gradient, threads.count()));
  conv2d_x_gradient(shape.conv(),
                    {.y_gradient = tensor_of(values.y_gradient, shape.y()),
                     .kernel = tensor_of(values.kernel, shape.kernel()),
                     .x_gradient = tensor_of(x_gradient, shape.x()),
                     .threads = threads},
                    Scratch(scratch.span()), kernel);
  return x_gradient;
}

inline std::vector<float> run_conv_kernel_gradient(const ConvShape& shape, const ConvValues& values,
                                                   GemmKernel kernel = best_kernel(),
                                                   const Threads& threads = {}) {
  std::vector<float> kernel_gradient(values.kernel.size(), 7.0F);
  ScratchMemory scratch(
      conv2d_scratch_bytes(shape.conv(), ConvPass::kernel_gradient, threads.count()));
  conv2d_kernel_gradient(shape.conv(),
                         {.x = tensor_of(values.x, shape.x()),
                          .y_gradient = tensor_of(values.y_gradient, shape.y()),
                          .kernel_gradient = tensor_of(kernel_gradient, shape.kernel()),
                          .threads = threads},
                         Scratch(scratch.span()), kernel);
  return kernel_gradient;
}

}  // namespace trainyard::runtime
