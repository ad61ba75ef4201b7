#include "tests/conformance/program/rounded.h"

#include <cmath>
#include <cstdio>
#include <vector>

#include "runtime/graph/kernels.h"
#include "tests/conformance/program/training.h"
#include "tests/conformance/reference/reference.h"
#include "tests/conformance/reference/rounding.h"

namespace trainyard::runtime {
namespace {

double norm_between(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double apart = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += apart * apart;
  }
  return std::sqrt(sum);
}

}  // namespace

std::string distance(const Case& of, Device& device, double limit) {
  const Case small = reference::with_small_inputs(of);
  const Results first = results(small, device.kernels(), &device);
  const std::string what = first_difference(first, results(small, device.kernels(), &device));
  if (!what.empty()) return "the second time: " + what;
  const bool has_limit = is_finite(of) && reference::is_smooth(of);
  return has_limit ? reference::too_far(small, first, limit) : "";
}

std::string distance_of_large(const Case& of, Device& device, double limit) {
  const Results expected = results(of, cpu_kernels, nullptr);
  const Results found = results(of, device.kernels(), &device);
  const std::string what = first_difference(found, results(of, device.kernels(), &device));
  if (!what.empty()) return "the second time: " + what;
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    const std::vector<float>& values = expected.values[i].values;
    const double apart = norm_between(values, found.values[i].values);
    const double all = norm_between(values, std::vector<float>(values.size()));
    if (apart <= limit * all) continue;
    return expected.values[i].name + ": " + std::to_string(apart / all) + " of the norm is wrong";
  }
  return "";
}

int compare_rounded_models(std::span<const Trained> networks, const PrecisionPair& devices,
                           int steps) {
  constexpr double loss_apart = 0.01;
  constexpr double way_apart = 0.2;
  constexpr int steps_to_learn = 100;  // before them losses only have to be near
  std::printf("device: %s, %d steps\n%-10s %6s %12s %6s %9s %9s %9s\n", devices.rounded.name(),
              steps, "model", "twice", "steps/s", "apart", "loss", "float32", "at first");
  int wrong = 0;
  for (const Trained& network : networks) {
    const Training of_float32 = train(network, &devices.float32, steps);
    const Training first = train(network, &devices.rounded, steps);
    const bool is_same = are_equal(first, train(network, &devices.rounded, steps));
    const double apart = norm_between(first.parameters, of_float32.parameters) /
                         norm_between(of_float32.parameters, of_float32.start);
    const bool is_near = apart <= way_apart && std::abs(first.loss - of_float32.loss) <=
                                                   loss_apart * std::abs(of_float32.loss);
    // Else the comparison says nothing of training.
    const bool has_learnt = steps < steps_to_learn || of_float32.loss < 0.9 * of_float32.first_loss;
    wrong += is_same && is_near && has_learnt ? 0 : 1;
    std::printf("%-10s %6s %12.1f %6.3f %9.4f %9.4f %9.4f%s%s\n", network.name.c_str(),
                is_same ? "equal" : "DIFFER", first.steps_per_second, apart, first.loss,
                of_float32.loss, of_float32.first_loss, is_near ? "" : "  FAR",
                has_learnt ? "" : "  UNLEARNT");
    std::fflush(stdout);
  }
  return wrong == 0 ? 0 : 1;
}

}  // namespace trainyard::runtime
