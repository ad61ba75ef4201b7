// Convolutions forward, and their gradients, for the shapes of small and large networks, beside
// what the processor's multipliers can do in the same run.
#include <functional>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/cpu/conv.h"
#include "runtime/math/ops/cpu/fma_peak.h"
#include "tests/bench/bench.h"

namespace trainyard::bench {
namespace {

using namespace trainyard::runtime;  // NOLINT: this file is about it

constexpr int conv_runs = 7;
constexpr double conv_work_per_run = 1e9;  // operations

AlignedBuffer ramp(std::int64_t elements) {
  AlignedBuffer buffer(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    buffer.data()[i] = static_cast<float>(i % 101) * 0.01F;
  }
  return buffer;
}

struct ConvCase {
  const char* name;
  std::int64_t examples;
  Conv2d conv;
};

Conv2d conv_of(std::int64_t height, std::int64_t width, std::int64_t kernel, std::int64_t padding,
               std::int64_t channels, std::int64_t filters, std::int64_t stride = 1) {
  const auto axis = [&](std::int64_t pixels) {
    return WindowAxis{
        .pixels = pixels, .kernel = kernel, .stride = stride, .before = padding, .after = padding};
  };
  return {{axis(height), axis(width)}, channels, filters};
}

// One convolution's arrays, and its three passes.
class ConvRun {
 public:
  ConvRun(const ConvCase& of, GemmKernel kernel)
      : conv_(of.conv), kernel_(kernel), examples_(of.examples) {}

  void forward() {
    conv2d(conv_, {.x = x(), .kernel = weights(), .bias = {}, .y = {y_.data(), y_shape()}},
           scratch(ConvPass::forward), kernel_);
  }
  void x_gradient() {
    conv2d_x_gradient(
        conv_, {.y_gradient = y(), .kernel = weights(), .x_gradient = {dx_.data(), x_shape()}},
        scratch(ConvPass::x_gradient), kernel_);
  }
  void kernel_gradient() {
    conv2d_kernel_gradient(
        conv_, {.x = x(), .y_gradient = y(), .kernel_gradient = {dw_.data(), kernel_shape()}},
        scratch(ConvPass::kernel_gradient), kernel_);
  }
  [[nodiscard]] double work() const {
    return 2.0 * static_cast<double>(y_shape().elements() * conv_.depth());
  }

 private:
  [[nodiscard]] Shape x_shape() const {
    return {examples_, conv_.window.height.pixels, conv_.window.width.pixels, conv_.channels};
  }
  [[nodiscard]] Shape y_shape() const {
    return {examples_, conv_.window.height.outputs(), conv_.window.width.outputs(), conv_.filters};
  }
  [[nodiscard]] Shape kernel_shape() const {
    return {conv_.window.height.kernel, conv_.window.width.kernel, conv_.channels, conv_.filters};
  }
  [[nodiscard]] ConstTensor x() const { return {x_.data(), x_shape()}; }
  [[nodiscard]] ConstTensor y() const { return {y_.data(), y_shape()}; }
  [[nodiscard]] ConstTensor weights() const { return {weights_.data(), kernel_shape()}; }
  Scratch scratch(ConvPass pass) {
    return Scratch(
        std::as_writable_bytes(scratch_.span()).first(conv2d_scratch_bytes(conv_, pass)));
  }
  [[nodiscard]] std::int64_t scratch_floats() const {
    std::size_t most = 0;
    for (const ConvPass pass :
         {ConvPass::forward, ConvPass::x_gradient, ConvPass::kernel_gradient}) {
      most = std::max(most, conv2d_scratch_bytes(conv_, pass));
    }
    return static_cast<std::int64_t>(most / sizeof(float));
  }

  Conv2d conv_;
  GemmKernel kernel_;
  std::int64_t examples_;
  AlignedBuffer x_ = ramp(x_shape().elements());
  AlignedBuffer y_ = ramp(y_shape().elements());
  AlignedBuffer weights_ = ramp(kernel_shape().elements());
  AlignedBuffer dx_ = ramp(x_shape().elements());
  AlignedBuffer dw_ = ramp(kernel_shape().elements());
  AlignedBuffer scratch_ = ramp(scratch_floats());
};

// Operations each second, in 1e9, of as many calls as are worth measuring.
double rate_of(double work, const std::function<void()>& call) {
  const int times = std::max(1, static_cast<int>(conv_work_per_run / work));
  const double start = cpu_seconds_self();  // the machine may have other work
  for (int i = 0; i < times; ++i) call();
  return work * times * 1e-9 / (cpu_seconds_self() - start);
}

std::vector<BenchResult> bench_case(const ConvCase& of, GemmKernel kernel) {
  ConvRun run(of, kernel);
  const std::string by = kernel == GemmKernel::avx512 ? " AVX-512 " : " AVX2 ";
  struct Direction {
    std::string name;
    std::function<void()> call;
    Samples rates{};
  };
  std::vector<Direction> directions{{"forward", [&] { run.forward(); }},
                                    {"gradient of x", [&] { run.x_gradient(); }},
                                    {"gradient of kernel", [&] { run.kernel_gradient(); }}};
  for (Direction& direction : directions) direction.name = of.name + by + direction.name;
  std::erase_if(directions, [](const Direction& of) { return !is_asked_for(of.name); });
  Samples peaks;
  for (int i = 0; i < conv_runs && !directions.empty(); ++i) {
    peaks.add(rate_of(run_fma_chains(kernel), [&] { run_fma_chains(kernel); }));
    for (Direction& each : directions) each.rates.add(rate_of(run.work(), each.call));
  }
  std::vector<BenchResult> results;
  for (const Direction& direction : directions) {
    BenchResult result = summary_of(direction.rates);
    result.bench = "conv";
    result.case_name = direction.name;
    result.unit = "GFLOP/s";
    result.limit = summary_of(peaks).value;
    result.limit_of = "the peak";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

std::vector<BenchResult> bench_conv() {
  const std::vector<ConvCase> cases{{"LeNet c1", 64, conv_of(28, 28, 5, 2, 1, 6)},
                                    {"LeNet c2", 64, conv_of(14, 14, 5, 0, 6, 16)},
                                    {"CRNN c1", 8, conv_of(32, 128, 3, 1, 1, 32)},
                                    {"CRNN c2", 8, conv_of(16, 64, 3, 1, 32, 64)},
                                    {"CRNN c3", 8, conv_of(8, 32, 3, 1, 64, 128)},
                                    {"64-64 32x32", 4, conv_of(32, 32, 3, 1, 64, 64)},
                                    {"64-128 32x32 /2", 4, conv_of(32, 32, 3, 1, 64, 128, 2)},
                                    {"256-64 8x8 1x1", 32, conv_of(8, 8, 1, 0, 256, 64)},
                                    {"512-512 4x4", 32, conv_of(4, 4, 3, 1, 512, 512)}};
  std::vector<BenchResult> results;
  for (const GemmKernel kernel : {GemmKernel::avx512, GemmKernel::avx2}) {
    if (!is_available(kernel)) continue;
    for (const ConvCase& one : cases) {
      for (BenchResult& result : bench_case(one, kernel)) results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace trainyard::bench
