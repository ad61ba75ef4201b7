#include "tests/conformance/program/speed.h"

#include <algorithm>
#include <cstdio>

#include "runtime/device/product_run.h"
#include "tests/conformance/known_peaks.h"

namespace trainyard::runtime {
namespace {

// The fastest of five times ten in a row.
double gflops(ProductRun& run, ProductRun::Pass pass, const ProductShape& shape) {
  run.seconds(pass, 1);
  double least = 1e9;
  for (int round = 0; round < 5; ++round) least = std::min(least, run.seconds(pass, 10));
  return flops_of(shape) / least * 1e-9;
}

void print_product(Device& device, const ProductShape& shape, Precision precision) {
  ProductRun run(device, shape);
  using enum ProductRun::Pass;
  const double rate = gflops(run, forward, shape);
  std::printf("%6lld x %6lld x %6lld  %9.0f %9.0f %9.0f", static_cast<long long>(shape.rows),
              static_cast<long long>(shape.in), static_cast<long long>(shape.out), rate,
              gflops(run, gradient_of_x, shape), gflops(run, gradient_of_kernel, shape));
  const double peak = known_peak_flops(device.name(), precision);
  if (peak > 0) std::printf("  %5.2f", rate * 1e9 / peak);
  std::printf("\n");
}

}  // namespace

int print_speeds(Device& device, Precision precision) {
  std::printf("device: %s\n%-26s %9s %9s %9s  GFLOP/s, forward as a part of the peak\n",
              device.name(), "rows x in x out", "forward", "x", "kernel");
  for (const ProductShape& shape : {ProductShape{8192, 8192, 8192},
                                    {4096, 4096, 4096},
                                    {1024, 1024, 1024},
                                    {4096, 768, 3072},
                                    {512, 784, 256},
                                    {128, 512, 10}}) {
    print_product(device, shape, precision);
  }
  if (device.failure() != nullptr) std::printf("failed: %s\n", device.failure());
  return device.failure() == nullptr ? 0 : 1;
}

}  // namespace trainyard::runtime
