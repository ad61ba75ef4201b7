// Whole models whose parameters live on a device, and are updated there.
#pragma once

#include <span>

#include "runtime/graph/device.h"
#include "tests/conformance/program/networks.h"

namespace trainyard::runtime {

// A line for each network and some of the optimizers: whether weights, slots and the sum of the
// gradient's squares have the CPU's bytes after steps of several leaves, whose gradients are added
// on the device; and steps of one leaf a second. Returns the exit status.
int compare_residents(std::span<const Trained> networks, Device& device, int steps);

}  // namespace trainyard::runtime
