// How fast a device multiplies.
#pragma once

#include "runtime/graph/device.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

// A line for each of some products: GFLOP/s. Returns the exit status.
int print_speeds(Device& device, Precision precision);

}  // namespace trainyard::runtime
