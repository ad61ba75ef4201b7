// Loops over channels are vectors. A pixel's sums stay in one row of the output, which is in the
// nearest cache.
#include "runtime/math/ops/depthwise_conv.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t channels_at_once = 64;
using Chains = std::array<float, channels_at_once>;

struct Depths {
  std::int64_t in;
  std::int64_t multiplier;
  std::int64_t out;
};

Depths depths_of(const Window& window, const Shape& x, const Shape& kernel, const Shape& y) {
  ENSURE(x.rank() == 4 && y.rank() == 4 && kernel.rank() == 4);
  ENSURE(x == (Shape{x[0], window.height.pixels, window.width.pixels, x[3]}));
  ENSURE(kernel == (Shape{window.height.kernel, window.width.kernel, x[3], kernel[3]}));
  const std::int64_t out = x[3] * kernel[3];
  ENSURE(y == (Shape{x[0], window.height.outputs(), window.width.outputs(), out}));
  return {.in = x[3], .multiplier = kernel[3], .out = out};
}

// x's values at a pixel for the outputs first .. first + count - 1: each channel `multiplier`
// times.
const float* widened(const float* pixel, const Depths& depths, std::int64_t first,
                     std::int64_t count, Chains& wide) {
  if (depths.multiplier == 1) return pixel + first;
  for (std::int64_t i = 0; i < count; ++i) {
    wide[static_cast<std::size_t>(i)] = pixel[(first + i) / depths.multiplier];
  }
  return wide.data();
}

void add_products(const float* a, const float* b, std::int64_t count, Chains& chains) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    chains[at] = std::fma(a[i], b[i], chains[at]);
  }
}

// The same where a channel has `multiplier` products side by side.
void add_multiplied(const float* a, const float* b, std::int64_t multiplier, std::int64_t count,
                    Chains& chains) {
  if (multiplier == 1) return add_products(a, b, count, chains);
  for (std::int64_t i = 0; i < count; ++i) {
    float& chain = chains[static_cast<std::size_t>(i)];
    for (std::int64_t j = i * multiplier; j < (i + 1) * multiplier; ++j) {
      chain = std::fma(a[j], b[j], chain);
    }
  }
}

// Calls visit(first channel, channels) for pieces of at most channels_at_once.
template <class Visit>
void for_each_piece(std::int64_t channels, Visit visit) {
  for (std::int64_t first = 0; first < channels; first += channels_at_once) {
    visit(first, std::min(channels_at_once, channels - first));
  }
}

void store_pixel(const Chains& chains, std::int64_t count, const float* bias, Finish finish,
                 float* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const float sum = chains[static_cast<std::size_t>(i)];
    const float value = bias == nullptr ? sum : bias[i] + sum;
    to[i] = finish == Finish::relu && value < 0.0F ? 0.0F : value;
  }
}

// The outputs that read a pixel: those of the taps from the last to the first, so that they go up.
template <class Visit>
void for_each_reader(const WindowAxis& axis, std::int64_t pixel, Visit visit) {
  for (std::int64_t tap = axis.kernel - 1; tap >= 0; --tap) {
    const std::int64_t distance = pixel + axis.before - tap * axis.dilation;
    if (distance < 0 || distance % axis.stride != 0) continue;
    if (distance / axis.stride < axis.outputs()) visit(tap, distance / axis.stride);
  }
}

}  // namespace

void depthwise_conv2d(const Window& window, const DepthwiseForward& call) {
  const Depths depths = depths_of(window, call.x.shape, call.kernel.shape, call.y.shape);
  const auto& [height, width] = window;
  ENSURE(call.bias.data == nullptr || call.bias.elements() == depths.out);
  for (std::int64_t pixel = 0; pixel < call.y.shape.rows(); ++pixel) {
    const std::int64_t out_column = pixel % width.outputs();
    const std::int64_t out_row = pixel / width.outputs() % height.outputs();
    const std::int64_t corner =
        (pixel / window.outputs() * height.pixels + height.first_of(out_row)) * width.pixels +
        width.first_of(out_column);
    for_each_piece(depths.out, [&](std::int64_t first, std::int64_t count) {
      Chains chains{};
      Chains wide;  // NOLINT: written before it is read
      for (std::int64_t row = height.first_tap(out_row); row < height.last_tap(out_row); ++row) {
        for (std::int64_t tap = width.first_tap(out_column); tap < width.last_tap(out_column);
             ++tap) {
          const std::int64_t from =
              corner + row * height.dilation * width.pixels + tap * width.dilation;
          add_products(widened(call.x.data + from * depths.in, depths, first, count, wide),
                       call.kernel.data + (row * width.kernel + tap) * depths.out + first, count,
                       chains);
        }
      }
      store_pixel(chains, count, call.bias.data == nullptr ? nullptr : call.bias.data + first,
                  call.finish, call.y.data + pixel * depths.out + first);
    });
  }
}

void depthwise_conv2d_x_gradient(const Window& window, const DepthwiseXGradient& call) {
  const Depths depths =
      depths_of(window, call.x_gradient.shape, call.kernel.shape, call.y_gradient.shape);
  const auto& [height, width] = window;
  for (std::int64_t pixel = 0; pixel < call.x_gradient.shape.rows(); ++pixel) {
    const std::int64_t column = pixel % width.pixels;
    const std::int64_t row = pixel / width.pixels % height.pixels;
    const std::int64_t example = pixel / window.pixels();
    for_each_piece(depths.in, [&](std::int64_t first, std::int64_t count) {
      Chains chains{};
      for_each_reader(height, row, [&](std::int64_t row_tap, std::int64_t out_row) {
        for_each_reader(width, column, [&](std::int64_t tap, std::int64_t out_column) {
          const std::int64_t from =
              (example * height.outputs() + out_row) * width.outputs() + out_column;
          add_multiplied(call.y_gradient.data + from * depths.out + first * depths.multiplier,
                         call.kernel.data + (row_tap * width.kernel + tap) * depths.out +
                             first * depths.multiplier,
                         depths.multiplier, count, chains);
        });
      });
      float* const to = call.x_gradient.data + pixel * depths.in + first;
      store_pixel(chains, count, call.write == Write::add ? to : nullptr, Finish::as_it_is, to);
    });
  }
}

namespace {

// Of some of the outputs' channels, from the first on.
void add_kernel_gradient(const Window& window, const DepthwiseKernelGradient& call,
                         const Depths& depths, const Part& channels) {
  const WindowAxis& height = window.height;
  const WindowAxis& width = window.width;
  for (std::int64_t out = 0; out < call.x.shape[0] * height.outputs(); ++out) {
    const std::int64_t out_row = out % height.outputs();
    const std::int64_t x_row = out / height.outputs() * height.pixels + height.first_of(out_row);
    for (std::int64_t row = height.first_tap(out_row); row < height.last_tap(out_row); ++row) {
      for (std::int64_t tap = 0; tap < width.kernel; ++tap) {
        for_each_piece(channels.count(), [&](std::int64_t piece, std::int64_t count) {
          const std::int64_t first = channels.begin + piece;
          Chains chains{};
          Chains wide;  // NOLINT: written before it is read
          for (std::int64_t column = 0; column < width.outputs(); ++column) {
            const std::int64_t x_column = width.first_of(column) + tap * width.dilation;
            if (x_column < 0 || x_column >= width.pixels) continue;
            const std::int64_t from = (x_row + row * height.dilation) * width.pixels + x_column;
            add_products(
                widened(call.x.data + from * depths.in, depths, first, count, wide),
                call.y_gradient.data + (out * width.outputs() + column) * depths.out + first, count,
                chains);
          }
          float* const to =
              call.kernel_gradient.data + (row * width.kernel + tap) * depths.out + first;
          store_pixel(chains, count, to, Finish::as_it_is, to);
        });
      }
    }
  }
}

}  // namespace

void depthwise_conv2d_kernel_gradient(const Window& window, const DepthwiseKernelGradient& call) {
  const Depths depths =
      depths_of(window, call.x.shape, call.kernel_gradient.shape, call.y_gradient.shape);
  if (call.write == Write::overwrite) std::ranges::fill(call.kernel_gradient.span(), 0.0F);
  constexpr double nanoseconds = 0.4;  // of a tap of an output
  const std::int64_t taps = call.y_gradient.shape.rows() * window.taps();
  const Items channels{.count = depths.out,
                       .nanoseconds_each = nanoseconds * static_cast<double>(taps),
                       .unit = channels_at_once};
  call.threads.split(channels,
                     [&](const Part& part) { add_kernel_gradient(window, call, depths, part); });
}

}  // namespace trainyard::runtime
