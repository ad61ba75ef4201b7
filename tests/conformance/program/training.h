// A whole model, trained some steps.
#pragma once

#include <vector>

#include "runtime/graph/device.h"
#include "tests/conformance/program/networks.h"

namespace trainyard::runtime {

struct Training {
  std::vector<float> start;  // parameters before the first step
  std::vector<float>
      parameters;  // after the last; none: the model could not be built, which is said
  double steps_per_second = 0;
  double first_loss = 0;
  double loss = 0;  // of the last step
};

bool are_equal(const Training& a, const Training& b);

// Plain descent; running averages stay, for their sums are compared in the gradients that follow.
// Without a device by one core.
Training train(const Trained& network, Device* device, int steps);

}  // namespace trainyard::runtime
