// The precisions of tensor cores: no other device has their bytes, so ops are held against their
// definitions, and whole models against those in float32, and both against themselves.
#pragma once

#include "schemas/types/precision.h"
#include "tests/conformance/case.h"
#include "tests/conformance/program/replicated.h"

namespace trainyard::runtime {

// "" where a device of that precision computes the case's op near enough to its definition, and the
// same twice.
std::string distance(const Case& of, std::string_view family, Device& device, Precision precision);

// A line for each model: whether it has the same bytes each time, and the losses after the steps
// there and in float32, which may be one hundredth apart. Returns the exit status.
int compare_rounded_models(Device& exact, Device& rounded, int steps);

}  // namespace trainyard::runtime
