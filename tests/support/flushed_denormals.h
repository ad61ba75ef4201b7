// While it lives, this thread and those that it starts compute as the runtime does: without
// denormal numbers.
#pragma once

namespace trainyard::test {

class FlushedDenormals {
 public:
  FlushedDenormals() : before_(__builtin_ia32_stmxcsr()) {
    __builtin_ia32_ldmxcsr(before_ | 0x8040);  // FTZ and DAZ, as runtime/math/cpu.h
  }
  ~FlushedDenormals() { __builtin_ia32_ldmxcsr(before_); }
  FlushedDenormals(const FlushedDenormals&) = delete;
  FlushedDenormals& operator=(const FlushedDenormals&) = delete;

 private:
  unsigned before_;
};

}  // namespace trainyard::test
