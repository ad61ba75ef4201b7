// Four numbers that are read or written at once.
#pragma once

#include <cstdint>

#include "runtime/math/elements/both.h"

namespace trainyard::runtime {

struct alignas(16) Quad {
  float of[4];
};

TRAINYARD_BOTH inline bool is_quad(const float* data) {
  return reinterpret_cast<std::uintptr_t>(data) % sizeof(Quad) == 0;
}

}  // namespace trainyard::runtime
