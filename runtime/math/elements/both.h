// Functions of one element, which the loops of a CPU and the kernels of a GPU call: one source, so
// that both have the same bits. Plain IEEE operations, but that the runtime takes denormal numbers
// for zero (runtime/math/cpu.h); nothing here is contracted.
#pragma once

#include "runtime/core/both.h"
