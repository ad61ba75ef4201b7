// Whole models, trained some steps on the CPU and on a device.
#pragma once

#include <span>

#include "runtime/graph/device.h"
#include "tests/conformance/program/networks.h"

namespace trainyard::runtime {

// A line for each: whether the parameters have the same bytes after the steps, and steps a second
// of both. Returns the exit status.
int compare_models(std::span<const Trained> networks, Device& device, int steps);

}  // namespace trainyard::runtime
