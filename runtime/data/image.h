// Images of bytes: rows of pixels, the channels of a pixel side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainyard::runtime {

struct ImageShape {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;  // 1: grey, 3: red, green, blue
  bool operator==(const ImageShape&) const = default;

  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(height * width * channels);
  }
};

struct Image {
  ImageShape shape;
  std::vector<std::uint8_t> pixels;  // [height x width x channels]
  bool operator==(const Image&) const = default;
};

}  // namespace trainyard::runtime
