// Images made smaller or larger, with the same bytes on every host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/data/image.h"

namespace trainyard::runtime {

// A window of an image, in pixels of it.
struct Window {
  std::int64_t top = 0;
  std::int64_t left = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  bool operator==(const Window&) const = default;
};

// The largest window in the middle of an image that has the proportions of `to`: what is left when
// the shorter side is scaled to fit and the longer one is cut at both ends.
Window middle_window(const ImageShape& from, const ImageShape& to);

// The window, stretched to `to`, which has as many channels; `window` lies within the image. The
// filter is bilinear, and where the image gets smaller as wide as the pixels that fall together, so
// that none is left out (Pillow's "bilinear", whose bytes these are). First along rows, then along
// columns, in whole numbers: weights in units of 2^-22, each pass rounds to bytes.
std::vector<std::uint8_t> resample(std::span<const std::uint8_t> pixels, const ImageShape& from,
                                   const Window& window, const ImageShape& to);

}  // namespace trainyard::runtime
