// The steady clock, read for the cores, which are told the time.
#pragma once

#include <chrono>

#include "schemas/base/time.h"

namespace trainyard::runtime {

inline Time steady_now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

}  // namespace trainyard::runtime
