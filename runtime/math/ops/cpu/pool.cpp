// Loops over channels are vectors: in [height, width, channels] those of a pixel lie side by side.
#include "runtime/math/ops/pool.h"

#include <algorithm>

#include "runtime/math/ops/reduction.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

void ensure_images(const Window& window, const Shape& x, const Shape& y) {
  ENSURE(x.rank() == 4 && y.rank() == 4);
  ENSURE(x == (Shape{x[0], window.height.pixels, window.width.pixels, x[3]}));
  ENSURE(y == (Shape{x[0], window.height.outputs(), window.width.outputs(), x[3]}));
}

// An output pixel, and which taps of its window meet the image.
struct Pooled {
  std::int64_t output = 0;     // of all examples' pixels
  std::int64_t first_row = 0;  // taps
  std::int64_t last_row = 0;   // one beyond
  std::int64_t first_column = 0;
  std::int64_t last_column = 0;
  std::int64_t corner = 0;  // of all examples' pixels of x: where tap (0, 0) would be

  [[nodiscard]] std::int64_t count() const {
    return (last_row - first_row) * (last_column - first_column);
  }
};

template <class Visit>
void for_each_pooled(const Window& window, std::int64_t examples, Visit visit) {
  Pooled at;
  for (std::int64_t example = 0; example < examples; ++example) {
    for (std::int64_t row = 0; row < window.height.outputs(); ++row) {
      at.first_row = window.height.first_tap(row);
      at.last_row = window.height.last_tap(row);
      for (std::int64_t column = 0; column < window.width.outputs(); ++column, ++at.output) {
        at.first_column = window.width.first_tap(column);
        at.last_column = window.width.last_tap(column);
        at.corner =
            (example * window.height.pixels + window.height.first_of(row)) * window.width.pixels +
            window.width.first_of(column);
        ENSURE(at.count() > 0);
        visit(at);
      }
    }
  }
}

// Calls visit(tap, pixel of x) for the taps of a window that meet the image, by row and column.
template <class Visit>
void for_each_tap(const Window& window, const Pooled& at, Visit visit) {
  for (std::int64_t row = at.first_row; row < at.last_row; ++row) {
    for (std::int64_t column = at.first_column; column < at.last_column; ++column) {
      visit(row * window.width.kernel + column,
            at.corner + row * window.height.dilation * window.width.pixels +
                column * window.width.dilation);
    }
  }
}

// Channels at a time, whose largest values and winners stay in the nearest cache.
constexpr std::int64_t pool_strip = 64;

struct Winners {
  float value[pool_strip];
  std::int32_t tap[pool_strip];
};

void take_larger(const float* from, std::int64_t channels, std::int64_t tap, Winners& best) {
  const auto number = static_cast<std::int32_t>(tap);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < channels; ++i) {
    const bool wins = best.value[i] < from[i];
    best.tap[i] = wins ? number : best.tap[i];
    best.value[i] = wins ? from[i] : best.value[i];
  }
}

void clear_unless_adding(Tensor gradient, Write write) {
  if (write == Write::overwrite) std::ranges::fill(gradient.span(), 0.0F);
}

}  // namespace

void max_pool2d(const Window& window, ConstTensor x, Tensor y, std::span<std::uint8_t> winners) {
  ensure_images(window, x.shape, y.shape);
  ENSURE(window.taps() <= max_pool_taps_max);
  ENSURE(winners.empty() || std::ssize(winners) == y.elements());
  const std::int64_t channels = x.shape[3];
  for_each_pooled(window, x.shape[0], [&](const Pooled& at) {
    for (std::int64_t first = 0; first < channels; first += pool_strip) {
      const std::int64_t count = std::min(pool_strip, channels - first);
      Winners best;  // NOLINT: of `count` channels, by the first tap
      bool is_first = true;
      for_each_tap(window, at, [&](std::int64_t tap, std::int64_t pixel) {
        const float* const from = x.data + pixel * channels + first;
        if (is_first) {
          std::copy_n(from, count, best.value);
          std::fill_n(best.tap, count, static_cast<std::int32_t>(tap));
          is_first = false;
        } else {
          take_larger(from, count, tap, best);
        }
      });
      const std::int64_t to = at.output * channels + first;
      std::copy_n(best.value, count, y.data + to);
      if (winners.empty()) continue;
      std::uint8_t* const taps = winners.data() + to;
      for (std::int64_t i = 0; i < count; ++i) taps[i] = static_cast<std::uint8_t>(best.tap[i]);
    }
  });
}

void max_pool2d_gradient(const Window& window, std::span<const std::uint8_t> winners,
                         ConstTensor y_gradient, Tensor x_gradient, Write write) {
  ensure_images(window, x_gradient.shape, y_gradient.shape);
  ENSURE(std::ssize(winners) == y_gradient.elements());
  const std::int64_t channels = x_gradient.shape[3];
  clear_unless_adding(x_gradient, write);
  for_each_pooled(window, x_gradient.shape[0], [&](const Pooled& at) {
    const std::uint8_t* const taps = winners.data() + at.output * channels;
    const float* const from = y_gradient.data + at.output * channels;
    for_each_tap(window, at, [&](std::int64_t tap, std::int64_t pixel) {
      const auto number = static_cast<std::uint8_t>(tap);
      float* const to = x_gradient.data + pixel * channels;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < channels; ++i) {
        const float more = to[i] + from[i];
        to[i] = taps[i] == number ? more : to[i];
      }
    });
  });
}

void avg_pool2d(const Window& window, ConstTensor x, Tensor y) {
  ensure_images(window, x.shape, y.shape);
  const std::int64_t channels = x.shape[3];
  std::ranges::fill(y.span(), 0.0F);
  for_each_pooled(window, x.shape[0], [&](const Pooled& at) {
    float* const to = y.data + at.output * channels;
    for_each_tap(window, at, [&](std::int64_t, std::int64_t pixel) {
      const float* const from = x.data + pixel * channels;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < channels; ++i) to[i] += from[i];
    });
    const auto count = static_cast<float>(at.count());
    for (std::int64_t i = 0; i < channels; ++i) to[i] /= count;
  });
}

void avg_pool2d_gradient(const Window& window, ConstTensor y_gradient, Tensor x_gradient,
                         Write write) {
  ensure_images(window, x_gradient.shape, y_gradient.shape);
  const std::int64_t channels = x_gradient.shape[3];
  clear_unless_adding(x_gradient, write);
  for_each_pooled(window, x_gradient.shape[0], [&](const Pooled& at) {
    const float* const from = y_gradient.data + at.output * channels;
    const auto count = static_cast<float>(at.count());
    for_each_tap(window, at, [&](std::int64_t, std::int64_t pixel) {
      float* const to = x_gradient.data + pixel * channels;
#pragma GCC ivdep
      for (std::int64_t i = 0; i < channels; ++i) to[i] += from[i] / count;
    });
  });
}

void global_avg_pool(ConstTensor x, Tensor y) {
  ENSURE(x.shape.rank() == 4 && y.shape == (Shape{x.shape[0], x.shape[3]}));
  const std::int64_t pixels = x.shape[1] * x.shape[2];
  const std::int64_t channels = x.shape[3];
  const auto count = static_cast<float>(pixels);
  for (std::int64_t example = 0; example < x.shape[0]; ++example) {
    const Tensor to{y.data + example * channels, {channels}};
    sum_rows({x.data + example * pixels * channels, {pixels, channels}}, to, Write::overwrite);
    for (std::int64_t i = 0; i < channels; ++i) to.data[i] /= count;
  }
}

void global_avg_pool_gradient(ConstTensor y_gradient, Tensor x_gradient, Write write) {
  const Shape& shape = x_gradient.shape;
  ENSURE(shape.rank() == 4 && y_gradient.shape == (Shape{shape[0], shape[3]}));
  const std::int64_t pixels = shape[1] * shape[2];
  const std::int64_t channels = shape[3];
  const auto count = static_cast<float>(pixels);
  clear_unless_adding(x_gradient, write);
  for (std::int64_t pixel = 0; pixel < shape[0] * pixels; ++pixel) {
    const float* const from = y_gradient.data + pixel / pixels * channels;
    float* const to = x_gradient.data + pixel * channels;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < channels; ++i) to[i] += from[i] / count;
  }
}

}  // namespace trainyard::runtime
