// Values folded into one in a fixed order: value i into lane i % 16, then lanes pairwise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace trainyard::runtime {

inline constexpr std::size_t fold_lanes = 16;

// value_of(i) for i below `count`.
template <class Number, class ValueOf, class Combine>
Number fold(std::size_t count, Number start, ValueOf value_of, Combine combine) {
  std::array<Number, fold_lanes> lanes;
  lanes.fill(start);
  std::size_t i = 0;
  for (; i + fold_lanes <= count; i += fold_lanes) {
    for (std::size_t lane = 0; lane < fold_lanes; ++lane) {
      lanes[lane] = combine(lanes[lane], value_of(i + lane));
    }
  }
  const std::size_t rest = count - i;
  if (rest > 0) {
    // A condition, not a shorter loop: the compiler makes a masked vector of it.
#pragma GCC unroll 1
    for (std::size_t lane = 0; lane < fold_lanes; ++lane) {
      if (lane < rest) lanes[lane] = combine(lanes[lane], value_of(i + lane));
    }
  }
  static_assert(fold_lanes == 16);  // which the loops are unrolled for
#pragma GCC unroll 4
  for (std::size_t width = fold_lanes / 2; width > 0; width /= 2) {
#pragma GCC unroll 8
    for (std::size_t lane = 0; lane < width; ++lane) {
      lanes[lane] = combine(lanes[lane], lanes[lane + width]);
    }
  }
  return lanes[0];
}

template <class ValueOf>
float fold_sum(std::int64_t count, ValueOf value_of) {
  return fold(
      static_cast<std::size_t>(count), 0.0F,
      [&](std::size_t i) { return value_of(static_cast<std::int64_t>(i)); },
      [](float a, float b) { return a + b; });
}

// Of one value at least.
inline float fold_maximum(const float* values, std::int64_t count) {
  return fold(
      static_cast<std::size_t>(count), values[0], [=](std::size_t i) { return values[i]; },
      [](float a, float b) { return a < b ? b : a; });
}

}  // namespace trainyard::runtime
