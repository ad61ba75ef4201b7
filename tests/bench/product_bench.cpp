#include "tests/bench/product_bench.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <thread>

#include "runtime/device/open_device.h"
#include "runtime/math/ops/cpu/fma_peak.h"
#include "schemas/types/precision_names.h"
#include "tests/bench/pytorch_peer.h"
#include "tests/conformance/known_peaks.h"

namespace trainyard::bench {
namespace {

using runtime::ProductRun;
using runtime::ProductShape;

constexpr int product_runs = 7;
constexpr std::int64_t side_max = 16384;

// What computes the products.
struct Multiplier {
  std::string name;  // "cpu", "gpu", "gpu in tf32"
  Precision precision = Precision::float32;
  std::unique_ptr<runtime::Device> gpu;  // none: the cores
  std::unique_ptr<runtime::ThreadTeam> cores;
  double peak_flops = 0;  // 0: not known
  std::string peak_of;
  double flops_at_once = 0;  // of products in a row: some hundredths of a second
};

Result<Multiplier> a_gpu(Precision precision) {
  TRY_ASSIGN(auto gpu, runtime::open_gpu(runtime::plugin_path(), {.precision = precision}));
  const std::string name = gpu->name();
  const std::string in = " in " + std::string(find_name(precision_names, precision));
  return Multiplier{.name = precision == Precision::float32 ? "gpu" : "gpu" + in,
                    .precision = precision,
                    .gpu = std::move(gpu),
                    .cores = {},
                    .peak_flops = runtime::known_peak_flops(name, precision),
                    .peak_of = "the peak of " + name + in,
                    .flops_at_once = 4e11};
}

Multiplier the_cores() {
  const auto cores = std::max<std::int64_t>(1, std::thread::hardware_concurrency());
  const std::int64_t threads = std::min(cores, runtime::ThreadTeam::threads_max);
  return {.name = "cpu",
          .precision = Precision::float32,
          .gpu = {},
          .cores = std::make_unique<runtime::ThreadTeam>(runtime::TeamSetting{.threads = threads}),
          .peak_flops = runtime::measure_fma_peak() * static_cast<double>(threads),
          .peak_of = "the measured peak of " + std::to_string(threads) + " cores",
          .flops_at_once = 2e9};
}

// Of an mlp, of a transformer's layers, and the last of a classifier. Cores are given no cube that
// takes them seconds.
std::vector<ProductShape> shapes_for(const Multiplier& multiplier) {
  std::vector<ProductShape> shapes{{1024, 1024, 1024}, {2048, 2048, 2048}};
  if (multiplier.gpu != nullptr) {
    shapes.push_back({4096, 4096, 4096});
    shapes.push_back({8192, 8192, 8192});
  }
  for (const ProductShape& shape : {ProductShape{512, 784, 512},
                                    {2048, 256, 768},
                                    {2048, 1024, 256},
                                    {4096, 768, 3072},
                                    {128, 512, 10}}) {
    shapes.push_back(shape);
  }
  return shapes;
}

std::string words_of(const ProductShape& shape) {
  return std::to_string(shape.rows) + "x" + std::to_string(shape.in) + "x" +
         std::to_string(shape.out);
}

struct Kind {
  ProductRun::Pass pass;
  const char* name;
};
constexpr std::array kinds{Kind{ProductRun::Pass::forward, "forward"},
                           Kind{ProductRun::Pass::gradient_of_x, "gradient of the input"},
                           Kind{ProductRun::Pass::gradient_of_kernel, "gradient of the weights"}};

class ShapeBench {
 public:
  ShapeBench(const Multiplier& multiplier, const ProductShape& shape)
      : multiplier_(multiplier), shape_(shape) {
    const double flops = runtime::flops_of(shape);
    const double times = multiplier.flops_at_once / flops;
    const int at_once = static_cast<int>(std::clamp(times, 1.0, 200.0));
    ProductRun run = multiplier.gpu != nullptr
                         ? ProductRun(*multiplier.gpu, shape)
                         : ProductRun(runtime::Threads(*multiplier.cores), shape);
    for (const Kind& kind : kinds) run.seconds(kind.pass, 1);
    for (int i = 0; i < product_runs; ++i) {
      for (std::size_t k = 0; k < kinds.size(); ++k) {
        ours_[k].add(flops / run.seconds(kinds[k].pass, at_once) * 1e-9);
      }
    }
  }

  // Of one run of PyTorch, forward.
  void add_peer(double gflops) {
    peers_.add(gflops);
    ratios_.add(summary_of(ours_[0]).value / gflops);
  }

  void report(std::vector<BenchResult>& results) const {
    for (std::size_t k = 0; k < kinds.size(); ++k) {
      add(results, ours_[k], std::string(", ") + kinds[k].name, "GFLOP/s");
    }
    if (peers_.values.empty()) return;
    add(results, peers_, ", PyTorch", "GFLOP/s");
    add(results, ratios_, ", ours by PyTorch's", "x");
  }

 private:
  void add(std::vector<BenchResult>& results, const Samples& samples, const std::string& name,
           const std::string& unit) const {
    BenchResult result = summary_of(samples);
    result.bench = "compute";
    result.case_name = multiplier_.name + " " + words_of(shape_) + name;
    result.unit = unit;
    if (unit != "x") {
      result.limit = multiplier_.peak_flops * 1e-9;
      result.limit_of = multiplier_.peak_flops > 0 ? multiplier_.peak_of : "";
    }
    results.push_back(std::move(result));
  }

  const Multiplier& multiplier_;
  ProductShape shape_;
  std::array<Samples, kinds.size()> ours_;
  Samples peers_;
  Samples ratios_;
};

// In the same run, and said where it is not there: figures of another day are no peer.
void measure_peer(Precision precision, const std::vector<ProductShape>& shapes,
                  std::vector<ShapeBench>& benches) {
  constexpr int runs = 3;  // each starts PyTorch anew
  std::vector<std::string> words;
  for (const ProductShape& shape : shapes) words.push_back(words_of(shape));
  for (int i = 0; i < runs; ++i) {
    const auto rates = pytorch_products_on_gpu(find_name(precision_names, precision), words);
    if (!rates) {
      std::fputs("without PyTorch: there is none here that computes on the GPU\n", stderr);
      return;
    }
    for (std::size_t k = 0; k < benches.size(); ++k) benches[k].add_peer((*rates)[k]);
  }
}

void bench_with(const Multiplier& multiplier, const std::optional<ProductShape>& only,
                std::vector<BenchResult>& results) {
  const auto shapes = only ? std::vector<ProductShape>{*only} : shapes_for(multiplier);
  std::vector<ShapeBench> benches;
  benches.reserve(shapes.size());
  for (const ProductShape& shape : shapes) benches.emplace_back(multiplier, shape);
  if (multiplier.gpu != nullptr) {
    runtime::require_sound(*multiplier.gpu);
    measure_peer(multiplier.precision, shapes, benches);
  }
  for (const ShapeBench& bench : benches) bench.report(results);
}

std::optional<std::int64_t> side_of(std::string_view text) {
  std::int64_t side = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), side);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (side < 1 || side > side_max) return std::nullopt;
  return side;
}

}  // namespace

std::optional<ProductDevice> product_device_of(std::string_view text) {
  if (text == "cpu") return ProductDevice::cpu;
  if (text == "gpu") return ProductDevice::gpu;
  return std::nullopt;
}

std::optional<ProductShape> product_shape_of(std::string_view text) {
  std::array<std::int64_t, 3> sides{};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const std::size_t cross = i + 1 < sides.size() ? text.find('x') : text.size();
    if (cross == std::string_view::npos) return std::nullopt;
    const auto side = side_of(text.substr(0, cross));
    if (!side) return std::nullopt;
    sides[i] = *side;
    text.remove_prefix(std::min(cross + 1, text.size()));
  }
  return ProductShape{sides[0], sides[1], sides[2]};
}

Result<std::vector<BenchResult>> bench_products(ProductDevice device,
                                                const std::optional<ProductShape>& only) try {
  std::vector<BenchResult> results;
  if (device == ProductDevice::cpu) {
    bench_with(the_cores(), only, results);
    return results;
  }
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bfloat16}) {
    TRY_ASSIGN(const Multiplier multiplier, a_gpu(precision));
    bench_with(multiplier, only, results);
  }
  return results;
} catch (const runtime::DeviceFailed& failure) {
  return unavailable(failure.what());
}

}  // namespace trainyard::bench
