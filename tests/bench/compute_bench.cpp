// What a worker computes for a step, the gradient of a batch, for each family of models: one core
// of ours beside one thread of PyTorch. By CPU time, as the machine may have other work; without an
// optimizer on either side. Then several threads of ours beside one, by the clock.
#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "tests/bench/bench.h"
#include "tests/bench/gradient_run.h"
#include "tests/bench/network_cases.h"
#include "tests/bench/pytorch_peer.h"

namespace trainyard::bench {
namespace {

constexpr int compute_runs = 7;

BenchResult result_of(const Samples& samples, std::string name, const char* unit) {
  BenchResult result = summary_of(samples);
  result.bench = "compute";
  result.case_name = std::move(name);
  result.unit = unit;
  return result;
}

// As many threads as there are cores, up to four: what a task with so many `cpus` computes on.
std::vector<BenchResult> bench_threads(const NetworkCase& of) {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::int64_t threads = std::min<std::int64_t>(4, cores);
  if (threads < 2) return {};
  GradientRun alone(of, {});
  GradientRun together(of, {.threads = threads});
  Samples rates, ratios;
  for (int i = 0; i < compute_runs; ++i) {
    const double one = alone.steps_per_clock_second();
    rates.add(together.steps_per_clock_second());
    ratios.add(rates.values.back() / one);
  }
  const std::string name = of.peer.network + ", " + std::to_string(threads) + " threads";
  return {result_of(rates, name, "steps/s"), result_of(ratios, name + " by one", "x")};
}

std::vector<BenchResult> bench_network(const NetworkCase& of) {
  GradientRun run(of, {});
  Samples ours, peers, ratios;
  std::string setup;
  for (int i = 0; i < compute_runs; ++i) {
    ours.add(run.steps_per_cpu_second());
    const auto peer = pytorch_gradient_rate(of.peer);
    if (!peer) continue;
    setup = peer->setup;
    peers.add(peer->steps_per_cpu_second);
    ratios.add(ours.values.back() / peers.values.back());
  }
  std::vector<BenchResult> results;
  const auto report = [&](const Samples& samples, const std::string& name, const char* unit) {
    if (samples.values.empty()) return;
    results.push_back(result_of(samples, of.peer.network + name, unit));
  };
  report(ours, "", "steps/cpu-s");
  report(peers, ", PyTorch (" + setup + ")", "steps/cpu-s");
  report(ratios, ", ours by PyTorch's", "x");
  return results;
}

}  // namespace

std::vector<BenchResult> bench_compute() {
  std::vector<BenchResult> results;
  for (const NetworkCase& one : cases_for_cores()) {
    if (!is_asked_for(one.peer.network)) continue;
    for (BenchResult& result : bench_network(one)) results.push_back(std::move(result));
    for (BenchResult& result : bench_threads(one)) results.push_back(std::move(result));
  }
  return results;
}

}  // namespace trainyard::bench
