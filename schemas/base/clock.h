// The clocks, for shells only: cores take `Now` or `Time` as an argument, and tests/tidy keeps this
// header out of them.
#pragma once

#include <chrono>

#include "schemas/base/time.h"

namespace trainyard {

inline Time steady_now() {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {duration_cast<milliseconds>(since).count()};
}

inline Now read_clocks() {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {.steady = steady_now(), .wall = {duration_cast<milliseconds>(wall).count()}};
}

}  // namespace trainyard
