#include "tests/bench/copy_bench.h"

#include <algorithm>
#include <functional>

#include "runtime/graph/device_buffer.h"
#include "runtime/graph/staging.h"
#include "runtime/math/aligned_buffer.h"

namespace trainyard::bench {
namespace {

constexpr int copy_runs = 7;
constexpr int copies_at_once = 4;
constexpr std::size_t copied_floats = std::size_t{64} << 20;  // no cache has as many

struct Copy {
  std::string name;
  std::function<void()> call;
};

std::vector<BenchResult> rates_of(const std::vector<Copy>& copies, std::size_t bytes,
                                  const std::function<void()>& wait) {
  std::vector<BenchResult> results;
  for (const Copy& copy : copies) {
    if (!is_asked_for(copy.name)) continue;
    Samples rates;
    copy.call();
    for (int run = 0; run < copy_runs; ++run) {
      wait();
      const double start = seconds_now();
      for (int i = 0; i < copies_at_once; ++i) copy.call();
      wait();
      rates.add(static_cast<double>(bytes) * copies_at_once / (seconds_now() - start) * 1e-9);
    }
    BenchResult result = summary_of(rates);
    result.bench = "compute";
    result.case_name = copy.name;
    result.unit = "GB/s";
    results.push_back(std::move(result));
  }
  return results;
}

std::vector<BenchResult> copies_of_cores(std::int64_t threads) {
  const runtime::AlignedBuffer from(copied_floats);
  runtime::AlignedBuffer to(copied_floats);
  runtime::ThreadTeam cores({.threads = threads});
  const std::size_t bytes = copied_floats * sizeof(float);
  const auto copy = [&] {
    runtime::copy_bytes(runtime::Threads(cores), to.data(), from.data(), bytes);
  };
  return rates_of({{"cpu, a copy in memory", copy}}, bytes, [] {});
}

std::vector<BenchResult> copies_of_gpu(runtime::Device& gpu) {
  constexpr std::size_t arrays = 4;  // half of the memory at most
  const std::size_t count = std::min(copied_floats, gpu.free_bytes() / sizeof(float) / arrays);
  const std::size_t bytes = count * sizeof(float);
  runtime::DeviceBuffer on_host(gpu, runtime::DeviceBuffer::On::host);
  runtime::DeviceBuffer first(gpu);
  runtime::DeviceBuffer second(gpu);
  float* const host = on_host.floats(count);
  float* const from = first.floats(count);
  float* const to = second.floats(count);
  gpu.fill(from, 1, count);
  return rates_of({{"gpu, a copy in its memory", [&] { gpu.copy(to, from, count); }},
                   {"gpu, a copy from the host", [&] { gpu.upload(host, to, bytes); }},
                   {"gpu, a copy to the host", [&] { gpu.download(from, host, bytes); }}},
                  bytes, [&] {
                    gpu.wait(gpu.mark());
                    require_sound(gpu);
                  });
}

}  // namespace

Result<std::vector<BenchResult>> bench_copies(DeviceKind kind) {
  TRY_ASSIGN(const BenchDevice device, open_bench_device(kind, {}));
  if (device.gpu == nullptr) return copies_of_cores(device.threads);
  return copies_of_gpu(*device.gpu);
}

}  // namespace trainyard::bench
