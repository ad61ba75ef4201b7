// Runs a case by the CPU's kernels and on a device, and compares all bytes.
#pragma once

#include <string>

#include "runtime/graph/device.h"
#include "tests/conformance/case.h"

namespace trainyard::runtime {

// "" where everything is equal, else what differs first: "x's gradient (added): element 7 is 0x..".
std::string difference(const Case& of, Device& device);

}  // namespace trainyard::runtime
