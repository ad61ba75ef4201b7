#include "runtime/device/product_rate.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <string>

#include "runtime/device/open_device.h"
#include "runtime/device/product_run.h"
#include "schemas/types/precision_names.h"

namespace trainyard::runtime {
namespace {

// The smallest is quick in a GPU's double too, whose kernels a loop computes.
constexpr std::int64_t side_least = 128;
constexpr std::int64_t side_most = 8192;
constexpr double seconds_enough = 0.02;  // a GPU's clock has risen by then
constexpr int runs = 3;

// Three matrices and two gradients, and as much again for the kernels' own.
std::size_t bytes_of_product(std::int64_t side) {
  const auto sides = static_cast<std::size_t>(side);
  return sides * sides * sizeof(float) * 10;
}

}  // namespace

std::optional<std::int64_t> larger_side(const ProductTrial& trial) {
  const std::int64_t larger = 2 * trial.side;
  const bool has_room = bytes_of_product(larger) <= trial.free_bytes;
  if (trial.seconds >= seconds_enough || larger > side_most || !has_room) return std::nullopt;
  return larger;
}

int products_in_a_row(double seconds_of_one) {
  constexpr double most = 200;
  const double wanted = seconds_of_one > 0 ? std::ceil(seconds_enough / seconds_of_one) : most;
  return static_cast<int>(std::clamp(wanted, 1.0, most));
}

double measure_product_rate(Device& device) {
  using enum ProductRun::Pass;
  for (std::int64_t side = side_least;;) {
    const ProductShape shape{side, side, side};
    ProductRun run(device, shape);
    run.seconds(forward, 1);  // the first of a kind is slower
    const double once = run.seconds(forward, 1);
    require_sound(device);
    const auto larger =
        larger_side({.side = side, .seconds = once, .free_bytes = device.free_bytes()});
    if (larger) {
      side = *larger;
      continue;
    }
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < runs; ++i) {
      least = std::min(least, run.seconds(forward, products_in_a_row(once)));
    }
    require_sound(device);
    return flops_of(shape) / least * 1e-12;
  }
}

Result<MeasuredGpu> measure_first_gpu(const std::filesystem::path& plugin) try {
  MeasuredGpu measured{.name = {}, .build = own_build(), .rates = {}};
  for (const auto& [precision, name] : precision_names) {
    TRY_ASSIGN(const auto gpu, open_gpu(plugin, {.precision = precision}));
    const double tflops = measure_product_rate(*gpu);
    if (!is_product_rate(tflops)) {
      return unavailable("products in " + std::string(name) + " took no time that a clock shows");
    }
    measured.name = gpu->name();
    measured.rates[precision] = tflops;
  }
  return measured;
} catch (const std::exception& failure) {  // the device's, or the host has too little memory
  return unavailable(failure.what());
}

}  // namespace trainyard::runtime
