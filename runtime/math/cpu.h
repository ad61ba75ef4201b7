// Whether this host can run the runtime, which is compiled for one instruction set (x86-64-v3).
#pragma once

#include "schemas/base/result.h"

namespace trainyard::runtime {

// `invalid`, naming what is missing, on a processor without AVX2 and FMA. Called first in main:
// past it, other code may use these instructions anywhere.
Status check_cpu();

// From here on this thread, and each that it or its threads start, computes without denormal
// numbers: one that it reads is zero, and so is a result below 2^-126, of the same sign. A
// processor takes a hundred times longer for them, and vanishing gradients are full of them. In
// main, before any other thread: all peers of a job do (docs/decisions, 0025).
void flush_denormals();

}  // namespace trainyard::runtime
