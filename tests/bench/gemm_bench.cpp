// The products of a step's layers, beside Eigen's of the same shapes in the same run.
#include <Eigen/Core>
#include <functional>

#include "runtime/math/aligned_buffer.h"
#include "runtime/math/ops/cpu/gemm.h"
#include "tests/bench/bench.h"

namespace trainyard::bench {
namespace {

using namespace trainyard::runtime;  // NOLINT: this file is about it

constexpr int kRuns = 9;
constexpr double kWorkPerRun = 1e9;  // operations

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const Matrix>;
using Map = Eigen::Map<Matrix>;

AlignedBuffer filled(std::int64_t elements) {
  AlignedBuffer buffer(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    buffer.data()[i] = static_cast<float>(i % 101) * 0.01F;
  }
  return buffer;
}

struct Case {
  std::string name;
  std::function<void()> ours;
  std::function<void()> eigen;
  Samples our_samples = {};
  Samples eigen_samples = {};
};

// `work`: operations of one product.
void measure_all(std::vector<Case>& cases, double work) {
  const int times = std::max(1, static_cast<int>(kWorkPerRun / work));
  const auto measure = [&](const std::function<void()>& product, Samples& samples) {
    const double start = seconds_now();
    for (int i = 0; i < times; ++i) product();
    samples.add(work * times * 1e-9 / (seconds_now() - start));
  };
  for (int run = 0; run < kRuns; ++run) {
    for (Case& one : cases) {
      measure(one.eigen, one.eigen_samples);
      measure(one.ours, one.our_samples);
    }
  }
}

// A layer of `in` x `out` under a batch.
std::vector<BenchResult> bench_layer(std::int64_t batch, std::int64_t in, std::int64_t out) {
  const AlignedBuffer x = filled(batch * in);
  const AlignedBuffer kernel = filled(in * out);
  const AlignedBuffer y = filled(batch * out);
  AlignedBuffer to(static_cast<std::size_t>(std::max({batch * in, in * out, batch * out})));
  const ConstMap x_map(x.data(), batch, in);
  const ConstMap kernel_map(kernel.data(), in, out);
  const ConstMap y_map(y.data(), batch, out);

  std::vector<Case> cases{
      {"forward",
       [&] {
         gemm({.rows = batch,
               .columns = out,
               .depth = in,
               .left = {x.data(), in, 1},
               .right = {kernel.data(), out, 1},
               .out = to.data()});
       },
       [&] { Map(to.data(), batch, out).noalias() = x_map * kernel_map; }},
      {"gradient of the input",
       [&] {
         gemm({.rows = batch,
               .columns = in,
               .depth = out,
               .left = {y.data(), out, 1},
               .right = {kernel.data(), 1, out},
               .out = to.data()});
       },
       [&] { Map(to.data(), batch, in).noalias() = y_map * kernel_map.transpose(); }},
      {"gradient of the weights",
       [&] {
         gemm({.rows = in,
               .columns = out,
               .depth = batch,
               .left = {x.data(), 1, in},
               .right = {y.data(), out, 1},
               .out = to.data()});
       },
       [&] { Map(to.data(), in, out).noalias() = x_map.transpose() * y_map; }}};

  measure_all(cases, 2.0 * static_cast<double>(batch * in * out));
  std::vector<BenchResult> results;
  for (const Case& one : cases) {
    BenchResult result = summary_of(one.our_samples);
    result.bench = "gemm";
    result.case_name = std::to_string(batch) + "x" + std::to_string(in) + "x" +
                       std::to_string(out) + " " + one.name;
    result.unit = "GFLOP/s";
    result.limit = summary_of(one.eigen_samples).value;
    result.limit_of = "Eigen";
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

std::vector<BenchResult> bench_gemm() {
  std::vector<BenchResult> results = bench_layer(100, 784, 100);
  for (BenchResult& result : bench_layer(128, 2048, 2048)) results.push_back(std::move(result));
  return results;
}

}  // namespace trainyard::bench
