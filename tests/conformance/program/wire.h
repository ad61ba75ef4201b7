// What a device does with gradients that leave it in bfloat16.
#pragma once

#include "runtime/graph/device.h"

namespace trainyard::runtime {

// Whether numbers of all kinds are rounded to the bits of the CPU's codec, and of a line for each
// network whether its gradient is, and state as it was. Returns the exit status.
int compare_wires(Device& device);

}  // namespace trainyard::runtime
