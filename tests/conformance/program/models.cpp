#include "tests/conformance/program/models.h"

#include <cstdio>

#include "tests/conformance/program/training.h"

namespace trainyard::runtime {

int compare_models(std::span<const Trained> networks, Device& device, int steps) {
  std::printf("device: %s, %d steps\n%-10s %10s %6s %12s %12s %8s\n", device.name(), steps, "model",
              "parameters", "bytes", "CPU steps/s", "steps/s", "loss");
  int different = 0;
  for (const Trained& network : networks) {
    const Training here = train(network, nullptr, steps);
    const Training there = train(network, &device, steps);
    const bool is_same = are_equal(here, there);
    different += is_same ? 0 : 1;
    std::printf("%-10s %10zu %6s %12.1f %12.1f %8.4f\n", network.name.c_str(),
                here.parameters.size(), is_same ? "equal" : "DIFFER", here.steps_per_second,
                there.steps_per_second, there.loss);
    std::fflush(stdout);
  }
  return different == 0 ? 0 : 1;
}

}  // namespace trainyard::runtime
