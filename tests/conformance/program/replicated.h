// Whole models, trained some steps by several replicas together.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "runtime/graph/device.h"
#include "tests/conformance/program/networks.h"

namespace trainyard::runtime {

// Another device of its own, though perhaps on the same GPU.
using NewDevice = std::function<std::unique_ptr<Device>()>;

// A line for each: whether 2 and 4 replicas give the bytes of one. Returns the exit status.
int compare_replicas(std::span<const Trained> networks, const NewDevice& new_device, int steps);

}  // namespace trainyard::runtime
