#include "runtime/data/resample.h"

#include <algorithm>
#include <cmath>

#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr int weight_bits = 22;  // 255 * 2^22 fits into 31 bits
constexpr std::int32_t half_weight = 1 << (weight_bits - 1);

// Which pixels along one side make one of the new side, and with what weights.
struct Taps {
  std::int64_t first = 0;
  std::vector<std::int32_t> weights;
};

// A triangle over each new pixel, whose half_weight is one old or one new pixel, whichever is
// larger. Plain IEEE operations in a fixed order: the weights are the same everywhere.
std::vector<Taps> taps_of(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);
  std::vector<Taps> all(static_cast<std::size_t>(to));
  std::vector<double> shares;
  for (std::int64_t place = 0; place < to; ++place) {
    const double middle = (static_cast<double>(place) + 0.5) * scale;
    const auto first = std::max<std::int64_t>(0, static_cast<std::int64_t>(middle - support + 0.5));
    const auto end = std::min(from, static_cast<std::int64_t>(middle + support + 0.5));
    shares.clear();
    double sum = 0;
    for (std::int64_t i = first; i < end; ++i) {
      const double distance = std::abs((static_cast<double>(i) - middle + 0.5) / support);
      shares.push_back(distance < 1.0 ? 1.0 - distance : 0.0);
      sum += shares.back();
    }
    Taps& taps = all[static_cast<std::size_t>(place)];
    taps.first = first;
    for (const double share : shares) {
      taps.weights.push_back(static_cast<std::int32_t>(share / sum * (1 << weight_bits) + 0.5));
    }
  }
  return all;
}

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> weight_bits, 0, 255));
}

void stretch_row(const std::uint8_t* from, std::span<const Taps> taps, std::size_t channels,
                 std::uint8_t* to) {
  for (const Taps& tap : taps) {
    const std::uint8_t* const first = from + static_cast<std::size_t>(tap.first) * channels;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      std::int32_t sum = half_weight;
      const std::uint8_t* byte = first + channel;
      for (const std::int32_t weight : tap.weights) {
        sum += weight * *byte;
        byte += channels;
      }
      *to++ = to_byte(sum);
    }
  }
}

}  // namespace

Window middle_window(const ImageShape& from, const ImageShape& to) {
  Window window{.top = 0, .left = 0, .height = from.height, .width = from.width};
  if (from.width * to.height >= from.height * to.width) {
    const std::int64_t width = (from.height * to.width + to.height / 2) / to.height;
    window.width = std::clamp<std::int64_t>(width, 1, from.width);
  } else {
    const std::int64_t height = (from.width * to.height + to.width / 2) / to.width;
    window.height = std::clamp<std::int64_t>(height, 1, from.height);
  }
  window.top = (from.height - window.height) / 2;
  window.left = (from.width - window.width) / 2;
  return window;
}

std::vector<std::uint8_t> resample(std::span<const std::uint8_t> pixels, const ImageShape& from,
                                   const Window& window, const ImageShape& to) {
  ENSURE(pixels.size() == from.bytes() && from.channels == to.channels && to.bytes() > 0);
  ENSURE(window.top >= 0 && window.height > 0 && window.top + window.height <= from.height);
  ENSURE(window.left >= 0 && window.width > 0 && window.left + window.width <= from.width);
  const auto channels = static_cast<std::size_t>(from.channels);
  const std::size_t row_bytes = static_cast<std::size_t>(to.width) * channels;
  std::vector<std::uint8_t> rows(static_cast<std::size_t>(window.height) * row_bytes);
  const std::vector<Taps> columns = taps_of(window.width, to.width);
  for (std::int64_t row = 0; row < window.height; ++row) {
    const std::int64_t place = (window.top + row) * from.width + window.left;
    stretch_row(pixels.data() + static_cast<std::size_t>(place) * channels, columns, channels,
                rows.data() + static_cast<std::size_t>(row) * row_bytes);
  }
  std::vector<std::uint8_t> made(to.bytes());
  std::vector<std::int32_t> sums(row_bytes);
  std::uint8_t* out = made.data();
  for (const Taps& tap : taps_of(window.height, to.height)) {
    std::ranges::fill(sums, half_weight);
    const std::uint8_t* row = rows.data() + static_cast<std::size_t>(tap.first) * row_bytes;
    for (const std::int32_t weight : tap.weights) {
      for (std::size_t i = 0; i < row_bytes; ++i) sums[i] += weight * row[i];
      row += row_bytes;
    }
    for (const std::int32_t sum : sums) *out++ = to_byte(sum);
  }
  return made;
}

}  // namespace trainyard::runtime
