// Whether floats are numbers that can be gone on with.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace trainyard::runtime {

// False where a value is NaN or infinite.
inline bool all_finite(std::span<const float> values) {
  return std::ranges::all_of(values, [](float value) { return std::isfinite(value); });
}

}  // namespace trainyard::runtime
