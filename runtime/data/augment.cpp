// Each op takes one block of random words at its image's position. Bytes are computed in whole
// numbers; the one window that needs square roots is rounded to pixels.
#include "runtime/data/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <variant>

#include "runtime/core/counter_rng.h"
#include "runtime/data/resample.h"

namespace trainyard::runtime {
namespace {

using Bytes = std::vector<std::uint8_t>;
using RandomWords = std::array<std::uint32_t, 4>;

// 0 .. count - 1, for counts that are small beside 2^32.
std::int64_t below(std::uint32_t word, std::int64_t count) {
  return static_cast<std::int64_t>(std::uint64_t{word} * static_cast<std::uint64_t>(count) >> 32);
}

struct Augment {
  const ImageShape& shape;
  const RandomWords& words;
  Bytes& pixels;

  [[nodiscard]] std::size_t place_of(std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>((row * shape.width + column) * shape.channels);
  }

  void operator()(const CropSpec& crop) const {
    const std::int64_t down = below(words[0], 2 * crop.padding + 1) - crop.padding;
    const std::int64_t right = below(words[1], 2 * crop.padding + 1) - crop.padding;
    Bytes moved(pixels.size(), 0);
    const std::int64_t first = std::max<std::int64_t>(0, -right);
    const std::int64_t end = std::min(shape.width, shape.width - right);
    for (std::int64_t row = 0; row < shape.height && first < end; ++row) {
      const std::int64_t source = row + down;
      if (source < 0 || source >= shape.height) continue;
      std::copy_n(pixels.data() + place_of(source, first + right),
                  static_cast<std::size_t>((end - first) * shape.channels),
                  moved.data() + place_of(row, first));
    }
    pixels = std::move(moved);
  }

  void operator()(const FlipSpec& flip) const {
    if (words[0] >> 31 == 0) return;
    const auto swap = [this](std::size_t a, std::size_t b, std::int64_t pixel_count) {
      std::swap_ranges(pixels.data() + a,
                       pixels.data() + a + static_cast<std::size_t>(pixel_count * shape.channels),
                       pixels.data() + b);
    };
    if (flip.axis == ImageAxis::height) {
      for (std::int64_t row = 0; row < shape.height / 2; ++row) {
        swap(place_of(row, 0), place_of(shape.height - 1 - row, 0), shape.width);
      }
      return;
    }
    for (std::int64_t row = 0; row < shape.height; ++row) {
      for (std::int64_t column = 0; column < shape.width / 2; ++column) {
        swap(place_of(row, column), place_of(row, shape.width - 1 - column), 1);
      }
    }
  }

  void operator()(const RandomResizedCropSpec& crop) const {
    const double share =
        crop.scale_least + (crop.scale_most - crop.scale_least) * (words[0] * 0x1p-32);
    const double area = share * static_cast<double>(shape.height * shape.width);
    const double short_by_long = 0.75 + 0.25 * ((words[1] >> 1) * 0x1p-31);
    double height = std::sqrt(area * short_by_long);
    double width = std::sqrt(area / short_by_long);
    if ((words[1] & 1) != 0) std::swap(height, width);
    const auto pixels_of = [](double side, std::int64_t most) {
      return std::clamp<std::int64_t>(static_cast<std::int64_t>(side + 0.5), 1, most);
    };
    Window window{.height = pixels_of(height, shape.height),
                  .width = pixels_of(width, shape.width)};
    window.top = below(words[2], shape.height - window.height + 1);
    window.left = below(words[3], shape.width - window.width + 1);
    pixels = resample(pixels, shape, window, shape);
  }

  void operator()(const CutoutSpec& cutout) const {
    const std::int64_t top = below(words[0], shape.height) - cutout.size / 2;
    const std::int64_t left = below(words[1], shape.width) - cutout.size / 2;
    const std::int64_t first = std::max<std::int64_t>(0, left);
    const std::int64_t end = std::min(shape.width, left + cutout.size);
    const std::int64_t last_row = std::min(shape.height, top + cutout.size);
    for (std::int64_t row = std::max<std::int64_t>(0, top); row < last_row; ++row) {
      std::fill(pixels.data() + place_of(row, first), pixels.data() + place_of(row, end),
                std::uint8_t{0});
    }
  }

  // Factors in units of 2^-16.
  void operator()(const BrightnessSpec& brightness) const {
    constexpr std::int64_t one = 1 << 16;
    const auto amount = static_cast<std::int64_t>(brightness.amount * one + 0.5);
    const std::int64_t factor = one - amount + below(words[0], 2 * amount + 1);
    for (std::uint8_t& byte : pixels) {
      byte =
          static_cast<std::uint8_t>(std::min<std::int64_t>((byte * factor + one / 2) >> 16, 255));
    }
  }
};

}  // namespace

Augmentation::Augmentation(std::vector<AugmentSpec> specs, const ImageShape& shape,
                           std::uint64_t seed)
    : specs_(std::move(specs)), shape_(shape), seed_(seed) {}

void Augmentation::apply(std::uint64_t position, std::vector<std::uint8_t>& pixels) const {
  std::uint32_t op = 0;
  for (const AugmentSpec& spec : specs_) {
    const RandomWords words = CounterRng(seed_, RngStream::augment, op++).block(position);
    std::visit(Augment{.shape = shape_, .words = words, .pixels = pixels}, spec);
  }
}

}  // namespace trainyard::runtime
