// What a device does with gradients that leave it in bfloat16, and parameters that come so.
#pragma once

#include <span>

#include "runtime/graph/device.h"
#include "tests/conformance/program/networks.h"

namespace trainyard::runtime {

// Whether numbers of all kinds are rounded to the bits of the CPU's codec, and decoded to them, and
// in a line for each network whether its gradient is rounded so, state as it was, and whether it
// computes with rounded parameters as with decoded ones. Returns the exit status.
int compare_wires(std::span<const Trained> networks, Device& device);

}  // namespace trainyard::runtime
