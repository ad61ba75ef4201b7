// The precisions of tensor cores: no other device has their bytes, so ops are held against their
// definitions, and whole models against those in float32, and both against themselves.
#pragma once

#include <span>
#include <string>

#include "runtime/graph/device.h"
#include "schemas/types/precision.h"
#include "tests/conformance/case.h"
#include "tests/conformance/program/networks.h"

namespace trainyard::runtime {

// "" where the device computes the case's op near enough to its definition, and the same twice.
std::string distance(const Case& of, Device& device, double limit);

// The same for an op that is too large for its definition: near to what a CPU computes in float32.
std::string distance_of_large(const Case& of, Device& device, double limit);

struct PrecisionPair {
  Device& float32;
  Device& rounded;
};
// A line for each model: whether it has the same bytes each time; how far its parameters are from
// those in float32 after so many steps, as a part of the way that these have gone; and both losses,
// which may be one hundredth apart. From 100 steps on float32's has to have fallen by a tenth, as
// losses that stay agree with anything. Returns the exit status.
int compare_rounded_models(std::span<const Trained> networks, const PrecisionPair& devices,
                           int steps);

}  // namespace trainyard::runtime
