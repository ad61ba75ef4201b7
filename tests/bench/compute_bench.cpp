// What a worker computes for a step, the gradient of a batch, for each family of models: one core
// of ours beside one thread of PyTorch. By CPU time, as the machine may have other work; without an
// optimizer on either side. Then several threads of ours beside one, by the clock.
#include <thread>

#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "schemas/base/check.h"
#include "tests/bench/bench.h"
#include "tests/bench/peer_networks.h"
#include "tests/bench/pytorch_peer.h"

namespace trainyard::bench {
namespace {

using namespace trainyard::runtime;  // NOLINT: this file is about it

constexpr int compute_runs = 7;
constexpr double seconds_per_run = 1.5;

struct ComputeCase {
  PytorchNetwork peer;
  DataShape data;
};

DataShape images(std::vector<std::int64_t> image) {
  return {.example = image, .features = image[0] * image[1] * image[2], .classes = 10};
}

std::vector<ComputeCase> compute_cases() {
  DataShape lines = images({32, 128, 1});
  lines.classes = 0;
  lines.labels = LabelLayout::symbols;
  lines.symbols = 11;
  const DataShape tokens{.example = {128},
                         .features = 128,
                         .layout = FeatureLayout::ids,
                         .labels = LabelLayout::tokens,
                         .vocabulary = 96};
  return {{{"lenet5", 64}, images({28, 28, 1})},
          {{"cifar_cnn", 64}, images({32, 32, 3})},
          {{"resnet18", 64}, images({32, 32, 3})},
          {{"lstm", 64}, images({28, 28, 1})},
          {{"crnn", 32}, lines},
          {{"gpt", 16}, tokens}};
}

std::int32_t drawn(std::int64_t i, std::int64_t below) {
  return static_cast<std::int32_t>((7919 * i + 13 * (i / 7)) % below);
}

Batch batch_for(const DataShape& shape, std::int64_t examples) {
  constexpr int text = 4;  // symbols
  Batch batch{.examples = examples, .features = {}, .labels = {}, .targets = {}};
  const std::int64_t numbers = examples * shape.features;
  if (shape.layout == FeatureLayout::ids) {
    batch.lengths.assign(static_cast<std::size_t>(examples),
                         static_cast<std::int32_t>(shape.example[0]));
    for (std::int64_t i = 0; i < numbers; ++i) {
      batch.ids.push_back(drawn(i, shape.vocabulary));
      batch.token_labels.push_back(drawn(i + 1, shape.vocabulary));
    }
    return batch;
  }
  for (std::int64_t i = 0; i < numbers; ++i) {
    batch.features.push_back(static_cast<float>(i * 7919 % 1009) / 1009);
  }
  if (shape.labels == LabelLayout::symbols) batch.symbol_offsets.push_back(0);
  for (std::int64_t i = 0; i < examples; ++i) {
    if (shape.labels == LabelLayout::one) {
      batch.labels.push_back(drawn(i, shape.classes));
      continue;
    }
    for (int symbol = 0; symbol < text; ++symbol) {
      batch.symbols.push_back(1 + drawn(i * text + symbol, shape.symbols - 1));
    }
    batch.symbol_offsets.push_back(static_cast<std::int32_t>(batch.symbols.size()));
  }
  return batch;
}

class GradientRun {
 public:
  explicit GradientRun(const ComputeCase& of, std::int64_t threads = 1)
      : model_(built(of, threads)),
        batch_(batch_for(of.data, of.peer.batch_size)),
        parameters_(static_cast<std::size_t>(model_.arena_elements())),
        gradients_(static_cast<std::size_t>(model_.arena_elements())) {
    model_.initialize(1, parameters_.span());
    step();
  }

  double steps_per_cpu_second() { return steps_per_second(cpu_seconds_self); }
  double steps_per_clock_second() { return steps_per_second(seconds_now); }

 private:
  double steps_per_second(double (*seconds)()) {
    const double start = seconds();
    int steps = 0;
    while (steps < 2 || seconds() - start < seconds_per_run) {
      step();
      ++steps;
    }
    return steps / (seconds() - start);
  }

  static Model built(const ComputeCase& of, std::int64_t threads) {
    auto model =
        Model::build(peer_network(of.peer.network), of.data,
                     {.batch_size = of.peer.batch_size, .seed = 1, .team = {.threads = threads}});
    ENSURE(model.has_value());
    return std::move(*model);
  }

  void step() { model_.gradient(parameters_.span(), batch_, gradients_.span()); }

  Model model_;
  Batch batch_;
  AlignedBuffer parameters_;
  AlignedBuffer gradients_;
};

BenchResult result_of(const Samples& samples, std::string name, const char* unit) {
  BenchResult result = summary_of(samples);
  result.bench = "compute";
  result.case_name = std::move(name);
  result.unit = unit;
  return result;
}

// As many threads as there are cores, up to four: what a task with so many `cpus` computes on.
std::vector<BenchResult> bench_threads(const ComputeCase& of) {
  const auto cores = static_cast<std::int64_t>(std::thread::hardware_concurrency());
  const std::int64_t threads = std::min<std::int64_t>(4, cores);
  if (threads < 2) return {};
  GradientRun alone(of);
  GradientRun together(of, threads);
  Samples rates, ratios;
  for (int i = 0; i < compute_runs; ++i) {
    const double one = alone.steps_per_clock_second();
    rates.add(together.steps_per_clock_second());
    ratios.add(rates.values.back() / one);
  }
  const std::string name = of.peer.network + ", " + std::to_string(threads) + " threads";
  return {result_of(rates, name, "steps/s"), result_of(ratios, name + " by one", "x")};
}

std::vector<BenchResult> bench_network(const ComputeCase& of) {
  GradientRun run(of);
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
  for (const ComputeCase& one : compute_cases()) {
    if (!is_asked_for(one.peer.network)) continue;
    for (BenchResult& result : bench_network(one)) results.push_back(std::move(result));
    for (BenchResult& result : bench_threads(one)) results.push_back(std::move(result));
  }
  return results;
}

}  // namespace trainyard::bench
