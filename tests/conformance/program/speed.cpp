#include "tests/conformance/program/speed.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "tests/conformance/case.h"

namespace trainyard::runtime {
namespace {

using Clock = std::chrono::steady_clock;

float* floats_on(Device& device, const std::vector<float>& values) {
  const std::size_t bytes = values.size() * sizeof(float);
  auto* const memory = static_cast<float*>(device.allocate(bytes));
  device.upload(values.data(), memory, bytes);
  device.wait(device.mark());
  return memory;
}

// Seconds of work(), of ten in a row the mean, of five such the least.
template <class Work>
double seconds_of(Device& device, Work work) {
  work();
  device.wait(device.mark());
  double least = 1e9;
  for (int round = 0; round < 5; ++round) {
    constexpr int times = 10;
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) work();
    device.wait(device.mark());
    const std::chrono::duration<double> taken = Clock::now() - begin;
    least = std::min(least, taken.count() / times);
  }
  return least;
}

void print_product(Device& device, std::int64_t rows, std::int64_t in, std::int64_t out) {
  Random random(3);
  float* const x = floats_on(device, some_floats(random, rows * in));
  float* const kernel = floats_on(device, some_floats(random, in * out));
  float* const y = floats_on(device, some_floats(random, rows * out));
  const MatMulOp op;
  const std::vector<Shape> shapes{{rows, in}, {in, out}};
  const Needs needs = device.kernels().needs(op, shapes, {rows, out}, 1);
  float* const scratch =
      floats_on(device, std::vector<float>(static_cast<std::size_t>(needs.scratch) + 1));
  const std::vector<ConstTensor> inputs{{x, shapes[0]}, {kernel, shapes[1]}};
  Feed feed;
  feed.examples = rows;
  const double forward = seconds_of(device, [&] {
    device.kernels().forward(op, {.inputs = inputs,
                                  .output = {y, {rows, out}},
                                  .saved = {},
                                  .scratch = {scratch, {needs.scratch}},
                                  .feed = feed,
                                  .pass = Pass::train});
  });
  std::vector<GradientTarget> targets(2);
  const auto backward = [&] {
    device.kernels().backward(op, {.inputs = inputs,
                                   .output = {y, {rows, out}},
                                   .saved = {},
                                   .scratch = {scratch, {needs.scratch}},
                                   .output_gradient = {y, {rows, out}},
                                   .input_gradients = targets,
                                   .feed = feed});
  };
  float* const dx = floats_on(device, std::vector<float>(static_cast<std::size_t>(rows * in)));
  float* const dk = floats_on(device, std::vector<float>(static_cast<std::size_t>(in * out)));
  targets[0] = {{dx, shapes[0]}, Write::overwrite};
  const double to_x = seconds_of(device, backward);
  targets[0] = {};
  targets[1] = {{dk, shapes[1]}, Write::overwrite};
  const double to_kernel = seconds_of(device, backward);
  const double flops =
      2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
  std::printf("%6lld x %6lld x %6lld  %9.0f %9.0f %9.0f\n", static_cast<long long>(rows),
              static_cast<long long>(in), static_cast<long long>(out), flops / forward * 1e-9,
              flops / to_x * 1e-9, flops / to_kernel * 1e-9);
  for (float* const memory : {x, kernel, y, scratch, dx, dk}) device.release(memory);
}

}  // namespace

int print_speeds(Device& device) {
  std::printf("device: %s\n%-26s %9s %9s %9s  GFLOP/s\n", device.name(), "rows x in x out",
              "forward", "x", "kernel");
  print_product(device, 8192, 8192, 8192);
  print_product(device, 4096, 4096, 4096);
  print_product(device, 1024, 1024, 1024);
  print_product(device, 4096, 768, 3072);
  print_product(device, 512, 784, 256);
  print_product(device, 128, 512, 10);
  if (device.failure() != nullptr) std::printf("failed: %s\n", device.failure());
  return device.failure() == nullptr ? 0 : 1;
}

}  // namespace trainyard::runtime
