#include "runtime/math/ops/cpu/avx512.h"

namespace trainyard::runtime {

bool has_avx512() {
  static const bool has =
      __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0;
  return has;
}

}  // namespace trainyard::runtime
