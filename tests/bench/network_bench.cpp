#include "tests/bench/network_bench.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/types/precision_names.h"
#include "tests/bench/gradient_run.h"
#include "tests/bench/network_cases.h"
#include "tests/bench/pytorch_peer.h"

namespace trainyard::bench {
namespace {

constexpr int network_runs = 3;

// Ours, as it was measured.
struct OwnRates {
  Samples steps;   // per second
  Samples gflops;  // of the products of matrices, in the same runs
  std::int64_t parameters = 0;
  bool is_resident = false;
};

OwnRates own_rates(const NetworkCase& of, const BenchDevice& device) {
  GradientRun run(of, {.threads = device.threads, .gpu = device.gpu.get()});
  OwnRates rates{
      .steps = {}, .gflops = {}, .parameters = run.parameters(), .is_resident = run.is_resident()};
  const double flops = run.flops_per_step();
  for (int i = 0; i < network_runs; ++i) {
    rates.steps.add(run.steps_per_clock_second());
    rates.gflops.add(flops * rates.steps.values.back() * 1e-9);
  }
  return rates;
}

// Nothing where the GPU has too little memory for the network, which is said.
std::optional<OwnRates> own_rates_if_it_fits(const std::string& name, const NetworkCase& of,
                                             const BenchDevice& device) {
  try {
    return own_rates(of, device);
  } catch (const runtime::DeviceFailed& failure) {
    if (device.gpu->failure() != nullptr) throw;
    std::fprintf(stderr, "%s is left out: %s\n", name.c_str(), failure.what());
    return std::nullopt;
  }
}

// After ours, so that neither has memory or cores that the other wants.
std::optional<PytorchRates> peer_rates(const std::string& name, const NetworkCase& of,
                                       const BenchDevice& device) {
  const bool is_gpu = device.gpu != nullptr;
  if (is_gpu && !has_pytorch_on_gpu()) return std::nullopt;
  auto rates = pytorch_gradient_rates(
      of.peer, {.is_gpu = is_gpu,
                .precision = find_name(precision_names, device.variant.precision),
                .threads = device.threads});
  if (!rates) {
    std::fprintf(stderr, "%s without PyTorch: it is not there, or failed\n", name.c_str());
  } else if (rates->compiled.empty()) {
    std::fprintf(stderr, "%s without compiled PyTorch: %s\n", name.c_str(),
                 rates->why_not_compiled.c_str());
  }
  return rates;
}

class Results {
 public:
  explicit Results(std::string network) : network_(std::move(network)) {}

  BenchResult& add(const Samples& samples, const std::string& what, const char* unit) {
    BenchResult result = summary_of(samples);
    result.bench = "compute";
    result.case_name = network_ + what;
    result.unit = unit;
    return results_.emplace_back(std::move(result));
  }

  // PyTorch, eager or compiled, and its steps per second, run by run.
  struct Peer {
    std::string name;
    std::string setup;
    const std::vector<double>& rates;
  };
  void add_peer(const Peer& peer, double ours) {
    if (peer.rates.empty()) return;
    Samples ratios;
    for (const double rate : peer.rates) ratios.add(ours / rate);
    add({.values = peer.rates}, ", " + peer.name + " (" + peer.setup + ")", "steps/s");
    add(ratios, ", ours by " + peer.name + "'s", "x");
  }

  [[nodiscard]] const std::vector<BenchResult>& all() const { return results_; }

 private:
  std::string network_;
  std::vector<BenchResult> results_;
};

std::vector<BenchResult> bench_on(const BenchDevice& device, const NetworkCase& of,
                                  const std::string& name) {
  const auto ours = own_rates_if_it_fits(name, of, device);
  if (!ours) return {};
  Results results(name);
  const bool travels = device.gpu != nullptr && !ours->is_resident;
  results.add(
      ours->steps,
      ", batch " + std::to_string(of.peer.batch_size) + (travels ? ", parameters on the host" : ""),
      "steps/s");
  BenchResult& products = results.add(ours->gflops, ", its products", "GFLOP/s");
  products.limit = device.peak_flops * 1e-9;
  products.limit_of = device.peak_of;
  if (!device.variant.with_libraries) return results.all();
  const auto peer = peer_rates(name, of, device);
  if (!peer) return results.all();
  ENSURE(peer->parameters == ours->parameters);  // else it is other work
  const double median = summary_of(ours->steps).value;
  results.add_peer({"PyTorch", peer->setup, peer->eager}, median);
  results.add_peer({"compiled PyTorch", peer->setup, peer->compiled}, median);
  return results.all();
}

}  // namespace

Status bench_networks(DeviceKind kind,
                      const std::function<void(const std::vector<BenchResult>&)>& report) try {
  const auto cases = kind == DeviceKind::gpu ? cases_for_gpu() : cases_for_cores();
  for (const BenchVariant& variant : variants_of(kind)) {
    TRY_ASSIGN(const BenchDevice device, open_bench_device(kind, variant));
    for (const NetworkCase& one : cases) {
      const std::string name = device.name + " " + one.peer.network;
      if (is_asked_for(name)) report(bench_on(device, one, name));
    }
  }
  return ok();
} catch (const runtime::DeviceFailed& failure) {
  return unavailable(failure.what());
}

}  // namespace trainyard::bench
