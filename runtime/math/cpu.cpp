// Compiled for every x86-64 (CMakeLists.txt), so that it can still speak on a processor that is too
// old.
#include "runtime/math/cpu.h"

#include <string>

namespace trainyard::runtime {

Status check_cpu() {
  const char* missing = nullptr;
  if (!__builtin_cpu_supports("avx2")) missing = "AVX2";
  if (!__builtin_cpu_supports("fma")) missing = "FMA";
  if (missing == nullptr) return ok();
  return invalid(
      std::string("this processor has no ") + missing +
      ": training needs an x86-64-v3 processor (Intel Haswell of 2013, AMD Zen, or newer)");
}

void flush_denormals() {
  constexpr unsigned flush_to_zero = 0x8000;
  constexpr unsigned denormals_are_zero = 0x0040;
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | flush_to_zero | denormals_are_zero);
}

}  // namespace trainyard::runtime
