// Three settings together: each alone freezes the others at values that make things worse.
#include "runtime/net/pin_malloc.h"

#include <malloc.h>

#include <cstdlib>
#include <initializer_list>

namespace trainyard::runtime {

bool pin_malloc() {
  for (const char* name : {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"}) {
    if (std::getenv(name) != nullptr) return true;  // the operator knows better
  }
  return ::mallopt(M_TRIM_THRESHOLD, 1 << 30) == 1 && ::mallopt(M_MMAP_THRESHOLD, 64 << 20) == 1 &&
         ::mallopt(M_TOP_PAD, 64 << 20) == 1;
}

}  // namespace trainyard::runtime
