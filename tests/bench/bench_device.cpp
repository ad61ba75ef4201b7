#include "tests/bench/bench_device.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "runtime/device/open_device.h"
#include "runtime/math/ops/cpu/fma_peak.h"
#include "schemas/types/precision_names.h"
#include "tests/conformance/known_peaks.h"

namespace trainyard::bench {
namespace {

constexpr std::array all_variants{
    BenchVariant{Precision::float32, true}, BenchVariant{Precision::tf32, true},
    BenchVariant{Precision::tf32, false}, BenchVariant{Precision::bfloat16, true},
    BenchVariant{Precision::bfloat16, false}};

std::int64_t number_of_cores() {
  return std::max<std::int64_t>(1, std::thread::hardware_concurrency());
}

Result<BenchDevice> open_a_gpu(const BenchVariant& variant) {
  constexpr std::int64_t copying_threads_max = 4;
  TRY_ASSIGN(auto gpu,
             runtime::open_gpu(runtime::plugin_path(), {.precision = variant.precision,
                                                        .with_libraries = variant.with_libraries}));
  const std::string model = gpu->name();
  const std::string in = " in " + std::string(find_name(precision_names, variant.precision));
  const std::string by = variant.with_libraries ? "" : " without libraries";
  const double peak = runtime::known_peak_flops(model, variant.precision);
  return BenchDevice{.name = variant.precision == Precision::float32 ? "gpu" : "gpu" + in + by,
                     .variant = variant,
                     .gpu = std::move(gpu),
                     .threads = std::min(copying_threads_max, number_of_cores()),
                     .peak_flops = peak,
                     .peak_of = peak > 0 ? "the peak of " + model + in : ""};
}

BenchDevice all_cores() {
  const std::int64_t threads = std::min(number_of_cores(), runtime::ThreadTeam::threads_max);
  return {.name = "cpu",
          .variant = {},
          .gpu = {},
          .threads = threads,
          .peak_flops = runtime::measure_fma_peak() * static_cast<double>(threads),
          .peak_of = "the measured peak of " + std::to_string(threads) + " cores"};
}

}  // namespace

std::optional<DeviceKind> device_kind_of(std::string_view text) {
  if (text == "cpu") return DeviceKind::cpu;
  if (text == "gpu") return DeviceKind::gpu;
  return std::nullopt;
}

std::span<const BenchVariant> variants_of(DeviceKind kind) {
  return std::span(all_variants).first(kind == DeviceKind::cpu ? 1 : all_variants.size());
}

Result<BenchDevice> open_bench_device(DeviceKind kind, const BenchVariant& variant) {
  if (kind == DeviceKind::cpu) return all_cores();
  return open_a_gpu(variant);
}

}  // namespace trainyard::bench
