// Convolutions and their gradients as correlations.
#include "runtime/math/ops/cpu/conv.h"

#include <algorithm>

#include "runtime/math/ops/cpu/correlation.h"
#include "runtime/math/ops/reduction.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

void ensure_shapes(const Conv2d& conv, const Shape& x, const Shape& kernel, const Shape& y) {
  const Window& window = conv.window;
  ENSURE(x.rank() == 4 && y.rank() == 4 && x[0] == y[0]);
  ENSURE(x == (Shape{x[0], window.height.pixels, window.width.pixels, conv.channels}));
  ENSURE(y == (Shape{x[0], window.height.outputs(), window.width.outputs(), conv.filters}));
  ENSURE(kernel == (Shape{window.height.kernel, window.width.kernel, conv.channels, conv.filters}));
  ENSURE(window.outputs() > 0);
}

Correlation forward_correlation(const Conv2d& conv) {
  return {.height = forward_axis(conv.window.height),
          .width = forward_axis(conv.window.width),
          .channels = conv.channels,
          .columns = conv.filters,
          .kernel_width = conv.window.width.kernel,
          .kernel_taps = conv.window.taps(),
          .target_width = conv.window.width.outputs(),
          .target_pixels = conv.window.outputs()};
}

// Of x's pixels whose row and column have these remainders by the stride.
Correlation gradient_correlation(const Conv2d& conv, std::int64_t row_phase,
                                 std::int64_t column_phase) {
  return {.height = gradient_axis(conv.window.height, row_phase),
          .width = gradient_axis(conv.window.width, column_phase),
          .channels = conv.filters,
          .columns = conv.channels,
          .kernel_width = conv.window.width.kernel,
          .kernel_taps = conv.window.taps(),
          .target_width = conv.window.width.pixels,
          .target_pixels = conv.window.pixels()};
}

// Calls visit(correlation) for each pair of remainders that some pixel has.
template <class Visit>
void for_each_phase(const Conv2d& conv, Visit visit) {
  const Window& window = conv.window;
  for (std::int64_t row = 0; row < std::min(window.height.stride, window.height.pixels); ++row) {
    for (std::int64_t column = 0; column < std::min(window.width.stride, window.width.pixels);
         ++column) {
      visit(gradient_correlation(conv, row, column));
    }
  }
}

}  // namespace

std::size_t conv2d_scratch_bytes(const Conv2d& conv, ConvPass pass, std::int64_t threads) {
  switch (pass) {
    case ConvPass::forward: return correlation_scratch_bytes(forward_correlation(conv), threads);
    case ConvPass::kernel_gradient: return kernel_gradient_scratch_bytes(conv, threads);
    case ConvPass::x_gradient: break;
  }
  std::size_t most = 0;
  for_each_phase(conv, [&](const Correlation& correlation) {
    most = std::max(most, correlation_scratch_bytes(correlation, threads));
  });
  return most;
}

void conv2d(const Conv2d& conv, const ConvForward& call, Scratch scratch, GemmKernel kernel) {
  ensure_shapes(conv, call.x.shape, call.kernel.shape, call.y.shape);
  ENSURE(call.bias.data == nullptr || call.bias.elements() == conv.filters);
  const std::int64_t pixel = conv.channels * conv.filters;
  correlate(forward_correlation(conv),
            {.examples = call.x.shape[0],
             .source = call.x.data,
             .matrix = {.data = call.kernel.data,
                        .row_stride = conv.window.width.kernel * pixel,
                        .column_stride = pixel,
                        .along = conv.filters,
                        .across = 1},
             .bias = call.bias.data,
             .finish = call.finish,
             .target = call.y.data,
             .threads = call.threads},
            scratch, kernel);
}

void conv2d_x_gradient(const Conv2d& conv, const ConvXGradient& call, Scratch scratch,
                       GemmKernel kernel) {
  ensure_shapes(conv, call.x_gradient.shape, call.kernel.shape, call.y_gradient.shape);
  const std::int64_t pixel = conv.channels * conv.filters;
  const std::int64_t row = conv.window.width.kernel * pixel;
  for_each_phase(conv, [&](const Correlation& correlation) {
    // The flipped kernel: from the last tap that the axes walk, backwards.
    const std::int64_t first_row = conv.window.height.kernel - 1 - correlation.height.index_first;
    const std::int64_t first_column = conv.window.width.kernel - 1 - correlation.width.index_first;
    correlate(correlation,
              {.examples = call.x_gradient.shape[0],
               .source = call.y_gradient.data,
               .matrix = {.data = call.kernel.data + first_row * row + first_column * pixel,
                          .row_stride = -correlation.height.index_step * row,
                          .column_stride = -correlation.width.index_step * pixel,
                          .along = 1,
                          .across = conv.filters},
               .target = call.x_gradient.data,
               .write = call.write,
               .threads = call.threads},
              scratch, kernel);
  });
}

void conv2d(const Conv2d& conv, const ConvForward& call, std::span<std::byte> scratch) {
  conv2d(conv, call, Scratch(scratch), best_kernel());
}

void conv2d_x_gradient(const Conv2d& conv, const ConvXGradient& call,
                       std::span<std::byte> scratch) {
  conv2d_x_gradient(conv, call, Scratch(scratch), best_kernel());
}

void conv2d_kernel_gradient(const Conv2d& conv, const ConvKernelGradient& call,
                            std::span<std::byte> scratch) {
  ensure_shapes(conv, call.x.shape, call.kernel_gradient.shape, call.y_gradient.shape);
  conv2d_kernel_gradient(conv, call, Scratch(scratch), best_kernel());
}

void conv2d_bias_gradient(ConstTensor y_gradient, Tensor bias_gradient, Write write,
                          const Threads& threads) {
  sum_rows(y_gradient, bias_gradient, write, threads);
}

}  // namespace trainyard::runtime
