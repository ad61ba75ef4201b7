// Whether this host can run the runtime, which is compiled for one instruction set (x86-64-v3).
#pragma once

#include "schemas/base/result.h"

namespace trainyard::runtime {

// `invalid`, naming what is missing, on a processor without AVX2 and FMA. Called first in main:
// past it, other code may use these instructions anywhere.
Status check_cpu();

}  // namespace trainyard::runtime
