// The clocks, for shells only: cores take `Now` or `Time` as an argument, and tests/tidy keeps this
// header out of them.
#pragma once

#include <chrono>

#include "schemas/base/time.h"

namespace trainyard {

inline Now read_clocks() {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  const auto steady = std::chrono::steady_clock::now().time_since_epoch();
  const auto wall = std::chrono::system_clock::now().time_since_epoch();
  return {.steady = {duration_cast<milliseconds>(steady).count()},
          .wall = {duration_cast<milliseconds>(wall).count()}};
}

}  // namespace trainyard
