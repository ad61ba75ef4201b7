// A window that goes over an image's pixels, along each axis: what convolutions and pools share.
#pragma once

#include <algorithm>
#include <cstdint>

namespace trainyard::runtime {

// One axis. Output `o` reads the pixels first_of(o) + tap * dilation, of which those below 0 and
// from `pixels` on are padding.
struct WindowAxis {
  std::int64_t pixels = 1;  // of the image
  std::int64_t kernel = 1;  // taps
  std::int64_t stride = 1;
  std::int64_t before = 0;  // padding, in pixels
  std::int64_t after = 0;
  std::int64_t dilation = 1;

  // Whether each pixel is under one output's tap, and under no other's.
  [[nodiscard]] constexpr bool is_tiled() const {
    return stride == kernel && dilation == 1 && before == 0 && after == 0 && pixels % kernel == 0;
  }
  // Pixels from the first tap to the last.
  [[nodiscard]] constexpr std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
  [[nodiscard]] constexpr std::int64_t outputs() const {
    const std::int64_t room = pixels + before + after - reach();
    return room < 0 ? 0 : room / stride + 1;
  }
  [[nodiscard]] constexpr std::int64_t first_of(std::int64_t output) const {
    return output * stride - before;
  }
  // The taps of an output that meet the image: from first_tap on, below last_tap.
  [[nodiscard]] constexpr std::int64_t first_tap(std::int64_t output) const {
    return std::min(kernel, taps_up_to(-first_of(output)));
  }
  [[nodiscard]] constexpr std::int64_t last_tap(std::int64_t output) const {
    return std::max(first_tap(output), std::min(kernel, taps_up_to(pixels - first_of(output))));
  }

 private:
  [[nodiscard]] constexpr std::int64_t taps_up_to(std::int64_t distance) const {
    return distance <= 0 ? 0 : (distance + dilation - 1) / dilation;
  }
};

struct Window {
  WindowAxis height;
  WindowAxis width;

  [[nodiscard]] constexpr std::int64_t taps() const { return height.kernel * width.kernel; }
  [[nodiscard]] constexpr std::int64_t outputs() const {
    return height.outputs() * width.outputs();
  }
  [[nodiscard]] constexpr std::int64_t pixels() const { return height.pixels * width.pixels; }
};

}  // namespace trainyard::runtime
