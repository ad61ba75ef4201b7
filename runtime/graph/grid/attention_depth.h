// Which heads have attention whose scores are never in memory.
#pragma once

#include <cstdint>

#include "schemas/types/precision.h"

namespace trainyard::runtime {

// The features that its kernels give a head of so many, the rest of them zeros; 0: they have no
// room for it in the 48 KiB that a block shares, or the precision is not one of tensor cores.
constexpr int fused_depth(Precision precision, std::int64_t depth) {
  const int most = precision == Precision::float32 ? 0 : precision == Precision::tf32 ? 64 : 128;
  for (const int filled : {32, 64, 128}) {
    if (depth <= filled && filled <= most) return filled;
  }
  return 0;
}

}  // namespace trainyard::runtime
