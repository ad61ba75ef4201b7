// Whole models whose parameters live on a device, and are updated there.
#pragma once

#include "runtime/graph/device.h"

namespace trainyard::runtime {

// A line for each network and some of the optimizers: whether weights, slots and the sum of the
// gradient's squares have the CPU's bytes after steps of several leaves, whose gradients are added
// on the device; and steps of one leaf a second. Returns the exit status.
int compare_residents(Device& device, int steps);

}  // namespace trainyard::runtime
