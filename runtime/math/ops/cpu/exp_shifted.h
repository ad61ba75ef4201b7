// Exponentials of a row.
#pragma once

#include <cstdint>

#include "runtime/math/ops/cpu/vector_math.h"

namespace trainyard::runtime {

// to = exp(from - shift); `to` may be from. Two loops: of one the compiler makes a branch for the
// numbers that have no exponential, and no vectors.
inline void exp_shifted(const float* from, float shift, float* to, std::int64_t count) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] - shift;
#pragma GCC ivdep
  for (std::int64_t i = 0; i < count; ++i) to[i] = exp_float(to[i]);
}

}  // namespace trainyard::runtime
