// Windows over images: many of them, PyTorch's, and the plain loops of references.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/math/ops/window.h"

namespace trainyard::runtime {

inline std::string text_of(const Window& window) {
  std::ostringstream text;
  for (const WindowAxis* axis : {&window.height, &window.width}) {
    text << axis->pixels << " pixels, kernel " << axis->kernel << ", stride " << axis->stride
         << ", padding " << axis->before << " " << axis->after << ", dilation " << axis->dilation
         << "; ";
  }
  return text.str();
}

inline Window golden_window(const nlohmann::json& reference) {
  const auto axis = [&](std::size_t at) {
    return WindowAxis{.pixels = reference["pixels"][at],
                      .kernel = reference["size"][at],
                      .stride = reference["stride"][at],
                      .before = reference["padding"][at],
                      .after = reference["padding"][at],
                      .dilation = reference["dilation"][at]};
  };
  return {axis(0), axis(1)};
}

// Calls visit(pixel of the output, tap, pixel of the image) for each tap that meets the image, by
// output and tap; pixels are counted over all examples.
template <class Visit>
void for_each_window_tap(const Window& window, std::int64_t examples, Visit visit) {
  const auto& [height, width] = window;
  for (std::int64_t out = 0; out < examples * window.outputs(); ++out) {
    const std::int64_t out_row = out / width.outputs() % height.outputs();
    const std::int64_t out_column = out % width.outputs();
    for (std::int64_t tap = 0; tap < window.taps(); ++tap) {
      const std::int64_t row =
          out_row * height.stride - height.before + tap / width.kernel * height.dilation;
      const std::int64_t column =
          out_column * width.stride - width.before + tap % width.kernel * width.dilation;
      if (row < 0 || row >= height.pixels || column < 0 || column >= width.pixels) continue;
      visit(out, tap, (out / window.outputs() * height.pixels + row) * width.pixels + column);
    }
  }
}

}  // namespace trainyard::runtime
