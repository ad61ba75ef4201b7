#include "tests/conformance/program/rounded.h"

#include <cmath>
#include <cstdio>
#include <cstring>

#include "tests/conformance/program/training.h"
#include "tests/conformance/reference/reference.h"
#include "tests/conformance/reference/rounding.h"

namespace trainyard::runtime {

std::string distance(const Case& given, std::string_view family, Device& device,
                     Precision precision) {
  const Case of = reference::with_small_inputs(given);
  const Results first = results(of, device.kernels(), &device);
  const Results second = results(of, device.kernels(), &device);
  for (std::size_t i = 0; i < first.values.size(); ++i) {
    const std::vector<float>& a = first.values[i].values;
    const std::vector<float>& b = second.values[i].values;
    if (!a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) != 0) {
      return first.values[i].name + ": other bytes the second time";
    }
  }
  if (!is_finite(of)) return "";
  return reference::too_far(of, first, reference::rounding_limit(precision, family));
}

int compare_rounded_models(Device& exact, Device& rounded, int steps) {
  constexpr double loss_apart = 0.01;
  std::printf("device: %s, %d steps\n%-10s %6s %12s %9s %9s\n", rounded.name(), steps, "model",
              "twice", "steps/s", "loss", "float32");
  int wrong = 0;
  for (const Trained& network : networks()) {
    const Training of_float32 = train(network, &exact, steps);
    const Training first = train(network, &rounded, steps);
    const bool is_same = are_equal(first, train(network, &rounded, steps));
    const bool is_near =
        std::abs(first.loss - of_float32.loss) <= loss_apart * std::abs(of_float32.loss);
    wrong += is_same && is_near ? 0 : 1;
    std::printf("%-10s %6s %12.1f %9.4f %9.4f%s\n", network.name.c_str(),
                is_same ? "equal" : "DIFFER", first.steps_per_second, first.loss, of_float32.loss,
                is_near ? "" : "  APART");
    std::fflush(stdout);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace trainyard::runtime
