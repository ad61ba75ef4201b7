// A convolution and the gradient of its input as one thing: along an axis, output `t` reads the
// source's pixels t * stride + first + tap * step, from tap to tap forwards.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "runtime/math/ops/window.h"

namespace trainyard::runtime {

struct TapAxis {
  std::int64_t outputs = 0;
  std::int64_t stride = 1;
  std::int64_t source = 0;  // pixels that the source has; all others are zero
  std::int64_t taps = 0;
  std::int64_t first = 0;
  std::int64_t step = 1;
  // Which tap of the whole kernel, in the order of the depth, tap `t` is: index_first + t *
  // index_step.
  std::int64_t index_first = 0;
  std::int64_t index_step = 1;
  // Where output t is written: at the target's pixel target_first + t * target_stride.
  std::int64_t target_first = 0;
  std::int64_t target_stride = 1;

  [[nodiscard]] std::int64_t place(std::int64_t output, std::int64_t tap) const {
    return output * stride + first + tap * step;
  }
  // The taps of an output that meet the source: from first_tap on, below last_tap.
  [[nodiscard]] std::int64_t first_tap(std::int64_t output) const {
    return std::min(taps, taps_below(-place(output, 0)));
  }
  [[nodiscard]] std::int64_t last_tap(std::int64_t output) const {
    return std::max(first_tap(output), std::min(taps, taps_below(source - place(output, 0))));
  }
  // Pixels of padding that some output reads.
  [[nodiscard]] std::int64_t padding_before() const { return std::max<std::int64_t>(0, -first); }
  [[nodiscard]] std::int64_t padding_after() const {
    if (outputs == 0 || taps == 0) return 0;
    return std::max<std::int64_t>(0, place(outputs - 1, taps - 1) - (source - 1));
  }

 private:
  [[nodiscard]] std::int64_t taps_below(std::int64_t distance) const {
    return distance <= 0 ? 0 : (distance + step - 1) / step;
  }
};

inline TapAxis forward_axis(const WindowAxis& axis) {
  return {.outputs = axis.outputs(),
          .stride = axis.stride,
          .source = axis.pixels,
          .taps = axis.kernel,
          .first = -axis.before,
          .step = axis.dilation};
}

// x's pixels phase, phase + stride, phase + 2 stride, ...: those that the same taps of the kernel
// have read. Pixel x was read by tap k of output o where o * stride - before + k * dilation = x;
// the taps are walked from the last to the first, so that the outputs go up.
inline TapAxis gradient_axis(const WindowAxis& axis, std::int64_t phase) {
  TapAxis result{.outputs = (axis.pixels - phase + axis.stride - 1) / axis.stride,
                 .source = axis.outputs(),
                 .target_first = phase,
                 .target_stride = axis.stride};
  if (phase >= axis.pixels) result.outputs = 0;
  const std::int64_t common = std::gcd(axis.stride, axis.dilation);
  result.step = axis.dilation / common;
  result.index_step = axis.stride / common;
  for (std::int64_t tap = axis.kernel - 1; tap >= 0; --tap) {
    const std::int64_t distance = phase + axis.before - tap * axis.dilation;
    if (distance % axis.stride != 0) continue;
    if (result.taps == 0) {
      result.first = distance / axis.stride;
      result.index_first = axis.kernel - 1 - tap;
    }
    ++result.taps;
  }
  return result;
}

}  // namespace trainyard::runtime
