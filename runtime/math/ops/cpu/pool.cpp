// Loops over channels are vectors: in [height, width, channels] those of a pixel lie side by side.
#include "runtime/math/ops/pool.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "runtime/math/ops/cpu/transpose.h"
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

// Channels are taken eight at a time; of the last ones there may be fewer.
constexpr std::int64_t pool_lanes = 8;

__m256 load_first(const float* from, std::int64_t count) {
  return count >= pool_lanes ? _mm256_loadu_ps(from) : _mm256_maskload_ps(from, lanes_below(count));
}

__m256 number_lanes(std::int64_t number) {  // a whole number's bits
  return _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<std::int32_t>(number)));
}

void store_bytes(__m256i numbers, std::int64_t count, std::uint8_t* to) {
  const __m128i words =
      _mm_packs_epi32(_mm256_castsi256_si128(numbers), _mm256_extracti128_si256(numbers, 1));
  const std::int64_t bytes = _mm_cvtsi128_si64(_mm_packus_epi16(words, words));
  if (count >= pool_lanes) {
    std::memcpy(to, &bytes, sizeof(bytes));
  } else {
    std::memcpy(to, &bytes, static_cast<std::size_t>(count));
  }
}

__m256i load_bytes(const std::uint8_t* from, std::int64_t count) {
  std::int64_t bytes = 0;
  if (count >= pool_lanes) {
    std::memcpy(&bytes, from, sizeof(bytes));
  } else {
    std::memcpy(&bytes, from, static_cast<std::size_t>(count));
  }
  return _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(bytes));
}

// Up to eight channels of an output: which taps won them, and their gradients.
struct WonLanes {
  __m256i winner;
  __m256 gradient;
  std::int64_t count;
};

WonLanes load_won(const std::uint8_t* winners, const float* gradients, std::int64_t count) {
  return {load_bytes(winners, count), load_first(gradients, count), count};
}

// What a pixel's gradient is before a window's comes to it: whatever is there, or still nothing.
enum class Before { there, zero };

// Adds the gradients of the channels that this tap has won.
template <Before place>
void add_where_won(std::int64_t tap, const WonLanes& lanes, float* to) {
  const __m256i number = _mm256_set1_epi32(static_cast<std::int32_t>(tap));
  const __m256 wins = _mm256_castsi256_ps(_mm256_cmpeq_epi32(lanes.winner, number));
  const __m256 before = place == Before::zero ? _mm256_setzero_ps() : load_first(to, lanes.count);
  const __m256 after = _mm256_add_ps(before, lanes.gradient);
  store_first(_mm256_blendv_ps(before, after, wins), lanes.count, to);
}

template <Before place>
void give_to_winners(const Window& window, std::span<const std::uint8_t> winners,
                     ConstTensor y_gradient, Tensor x_gradient) {
  const std::int64_t channels = x_gradient.shape[3];
  for_each_pooled(window, x_gradient.shape[0], [&](const Pooled& at) {
    const std::uint8_t* const taps = winners.data() + at.output * channels;
    const float* const gradients = y_gradient.data + at.output * channels;
    const std::int64_t whole = channels / pool_lanes * pool_lanes;
    for_each_tap(window, at, [&](std::int64_t tap, std::int64_t pixel) {
      float* const to = x_gradient.data + pixel * channels;
      for (std::int64_t i = 0; i < whole; i += pool_lanes) {
        add_where_won<place>(tap, load_won(taps + i, gradients + i, pool_lanes), to + i);
      }
    });
    if (whole == channels) return;
    // To load the last ones takes longer: once for all taps.
    const WonLanes last = load_won(taps + whole, gradients + whole, channels - whole);
    for_each_tap(window, at, [&](std::int64_t tap, std::int64_t pixel) {
      add_where_won<place>(tap, last, x_gradient.data + pixel * channels + whole);
    });
  });
}

// Of an example [.., channels].
std::int64_t pixels_of(const Shape& shape) { return shape[0] == 0 ? 1 : shape.rows() / shape[0]; }

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
    const std::int64_t first_tap = at.first_row * window.width.kernel + at.first_column;
    const std::int64_t first_pixel = at.corner +
                                     at.first_row * window.height.dilation * window.width.pixels +
                                     at.first_column * window.width.dilation;
    for (std::int64_t i = 0; i < channels; i += pool_lanes) {
      const std::int64_t count = channels - i;
      __m256 best = load_first(x.data + first_pixel * channels + i, count);
      __m256 winner = number_lanes(first_tap);
      for_each_tap(window, at, [&](std::int64_t tap, std::int64_t pixel) {
        const __m256 value = load_first(x.data + pixel * channels + i, count);
        const __m256 wins = _mm256_cmp_ps(best, value, _CMP_LT_OQ);
        best = _mm256_blendv_ps(best, value, wins);
        winner = _mm256_blendv_ps(winner, number_lanes(tap), wins);
      });
      store_first(best, count, y.data + at.output * channels + i);
      if (winners.empty()) continue;
      store_bytes(_mm256_castps_si256(winner), count, winners.data() + at.output * channels + i);
    }
  });
}

void max_pool2d_gradient(const Window& window, std::span<const std::uint8_t> winners,
                         ConstTensor y_gradient, Tensor x_gradient, Write write) {
  ensure_images(window, x_gradient.shape, y_gradient.shape);
  ENSURE(std::ssize(winners) == y_gradient.elements());
  const bool is_tiled = window.height.is_tiled() && window.width.is_tiled();
  if (is_tiled && write == Write::overwrite) {
    return give_to_winners<Before::zero>(window, winners, y_gradient, x_gradient);
  }
  clear_unless_adding(x_gradient, write);
  give_to_winners<Before::there>(window, winners, y_gradient, x_gradient);
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
  const std::int64_t channels = x.shape.columns();
  ENSURE(x.shape.rank() >= 2 && y.shape == (Shape{x.shape[0], channels}));
  const std::int64_t pixels = pixels_of(x.shape);
  const auto count = static_cast<float>(pixels);
  for (std::int64_t example = 0; example < x.shape[0]; ++example) {
    const Tensor to{y.data + example * channels, {channels}};
    sum_rows({x.data + example * pixels * channels, {pixels, channels}}, to, Write::overwrite);
    for (std::int64_t i = 0; i < channels; ++i) to.data[i] /= count;
  }
}

void global_avg_pool_gradient(ConstTensor y_gradient, Tensor x_gradient, Write write) {
  const Shape& shape = x_gradient.shape;
  const std::int64_t channels = shape.columns();
  ENSURE(shape.rank() >= 2 && y_gradient.shape == (Shape{shape[0], channels}));
  const std::int64_t pixels = pixels_of(shape);
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
