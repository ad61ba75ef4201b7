// The sum of the squares of a line of numbers.
#pragma once

#include <cstdint>

#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

inline constexpr std::int64_t squares_line = 16;  // numbers; as wide as a cache line

// Of up to a line, pair by pair: in double each square is exact, and the order is fixed.
TRAINYARD_BOTH inline double squares_of_line(const float* values, std::int64_t count) {
  double lanes[squares_line] = {};
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(values[i]);
    lanes[i] = value * value;
  }
  for (std::int64_t width = squares_line / 2; width > 0; width /= 2) {
    for (std::int64_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

}  // namespace trainyard::runtime
