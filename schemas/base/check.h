// ENSURE(condition): a belief of the programmer. On in release builds; a false one prints where and
// ends the program. Never used on input, which gets a Result instead.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace trainyard::internal_check {

[[noreturn]] inline void fail(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "ENSURE failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace trainyard::internal_check

#define ENSURE(condition)              \
  ((condition) ? static_cast<void>(0) \
               : ::trainyard::internal_check::fail(#condition, __FILE__, __LINE__))
