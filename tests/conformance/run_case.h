// Runs a case by the kernels of a device, and compares all bytes with those of a CPU.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/device.h"
#include "tests/conformance/case.h"

namespace trainyard::runtime {

// What a case's kernels compute: the output in evaluation and in training, the gradients of the
// inputs that want one, of an output's gradient by chance, once written and once added.
struct Result {
  std::string name;
  std::vector<float> values;
  std::vector<float> start = {};  // what was there, where a gradient was added; empty: nothing
};

struct Results {
  std::vector<float> upstream;  // the output's gradient; empty: the op has none
  std::vector<Result> values;
};

// No device: the kernels are a CPU's.
Results results(const Case& of, const Kernels& kernels, Device* device);

// "" where all values have the same bytes, or are NaN in both; else which the first is that has
// not.
std::string first_difference(const Results& expected, const Results& found);

// "" where everything is equal, else what differs first: "x's gradient (added): element 7 is 0x..".
std::string difference(const Case& of, Device& device);

}  // namespace trainyard::runtime
