#include "runtime/math/avx512.h"

#include <atomic>

namespace trainyard::runtime {
namespace {

std::atomic<int> hidden_by = 0;  // so many WithoutAvx512, which tests alone have

}  // namespace

bool has_avx512() {
  static const bool has =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return has && hidden_by.load(std::memory_order_relaxed) == 0;
}

WithoutAvx512::WithoutAvx512() { ++hidden_by; }
WithoutAvx512::~WithoutAvx512() { --hidden_by; }

}  // namespace trainyard::runtime
