// Draws a digit from its strokes as somebody might write it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/counter_rng.h"

namespace trainyard::runtime {

inline constexpr std::int64_t digit_side = 28;
inline constexpr std::size_t digit_pixels = digit_side * digit_side;

// Which image: all that is drawn by chance is a function of the two, so that numbers of 43 bits are
// images of their own.
struct DigitImage {
  const CounterRng& rng;
  std::uint64_t number = 0;
};

// Writes digit_pixels bytes: slant, size, place, thickness and noise are the image's.
void draw_digit(const DigitImage& image, std::size_t digit, std::uint8_t* pixels);

}  // namespace trainyard::runtime
