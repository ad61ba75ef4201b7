#include "runtime/math/ops/cpu/avx512.h"

#include <atomic>

namespace trainyard::runtime {

namespace {

std::atomic<int> without = 0;  // how many live

}  // namespace

bool has_avx512() {
  static const bool has =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return has && without.load(std::memory_order_relaxed) == 0;
}

WithoutAvx512::WithoutAvx512() { ++without; }
WithoutAvx512::~WithoutAvx512() { --without; }

}  // namespace trainyard::runtime
