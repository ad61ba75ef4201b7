#include "tests/bench/product_bench.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "schemas/types/precision_names.h"
#include "tests/bench/pytorch_peer.h"

namespace trainyard::bench {
namespace {

using runtime::ProductRun;
using runtime::ProductShape;

constexpr int product_runs = 7;
constexpr std::int64_t side_max = 16384;

// Of products in a row: some hundredths of a second.
double flops_at_once(const BenchDevice& device) { return device.gpu != nullptr ? 4e11 : 2e9; }

std::string words_of(const ProductShape& shape) {
  return std::to_string(shape.rows) + "x" + std::to_string(shape.in) + "x" +
         std::to_string(shape.out);
}

std::string name_of(const BenchDevice& device, const ProductShape& shape) {
  return device.name + " " + words_of(shape);
}

// Of an mlp, of a transformer's layers, and the last of a classifier. Cores are given no cube that
// takes them seconds.
std::vector<ProductShape> shapes_for(const BenchDevice& device) {
  std::vector<ProductShape> shapes{{1024, 1024, 1024}, {2048, 2048, 2048}};
  if (device.gpu != nullptr) {
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
  std::erase_if(shapes,
                [&](const ProductShape& shape) { return !is_asked_for(name_of(device, shape)); });
  return shapes;
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
  ShapeBench(const BenchDevice& device, const ProductShape& shape)
      : device_(device), shape_(shape) {
    const double flops = runtime::flops_of(shape);
    const double times = flops_at_once(device) / flops;
    const int at_once = static_cast<int>(std::clamp(times, 1.0, 200.0));
    runtime::ThreadTeam cores({.threads = device.threads});
    ProductRun run = device.gpu != nullptr ? ProductRun(*device.gpu, shape)
                                           : ProductRun(runtime::Threads(cores), shape);
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
    result.case_name = name_of(device_, shape_) + name;
    result.unit = unit;
    if (unit != "x") {
      result.limit = device_.peak_flops * 1e-9;
      result.limit_of = device_.peak_of;
    }
    results.push_back(std::move(result));
  }

  const BenchDevice& device_;
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
      std::fputs("without PyTorch's products: it failed on the GPU\n", stderr);
      return;
    }
    for (std::size_t k = 0; k < benches.size(); ++k) benches[k].add_peer((*rates)[k]);
  }
}

void bench_with(const BenchDevice& device, const std::optional<ProductShape>& only,
                std::vector<BenchResult>& results) {
  const auto shapes = only ? std::vector<ProductShape>{*only} : shapes_for(device);
  if (shapes.empty()) return;
  std::vector<ShapeBench> benches;
  benches.reserve(shapes.size());
  for (const ProductShape& shape : shapes) benches.emplace_back(device, shape);
  if (device.gpu != nullptr) {
    runtime::require_sound(*device.gpu);
    const BenchVariant& variant = device.variant;
    if (variant.with_libraries && has_pytorch_on_gpu())
      measure_peer(variant.precision, shapes, benches);
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

Result<std::vector<BenchResult>> bench_products(DeviceKind kind,
                                                const std::optional<ProductShape>& only) try {
  std::vector<BenchResult> results;
  for (const BenchVariant& variant : variants_of(kind)) {
    TRY_ASSIGN(const BenchDevice device, open_bench_device(kind, variant));
    bench_with(device, only, results);
  }
  return results;
} catch (const runtime::DeviceFailed& failure) {
  return unavailable(failure.what());
}

}  // namespace trainyard::bench
