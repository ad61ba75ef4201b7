// What a worker computes for a step, the gradient of a batch, for image models of the zoo: one core
// of ours beside one thread of PyTorch. By CPU time, as the machine may have other work; without an
// optimizer on either side.
#include "runtime/math/aligned_buffer.h"
#include "runtime/model/model.h"
#include "schemas/base/check.h"
#include "tests/bench/bench.h"
#include "tests/bench/pytorch_peer.h"
#include "tests/support/models.h"

namespace trainyard::bench {
namespace {

using namespace trainyard::runtime;  // NOLINT: this file is about it

constexpr int compute_runs = 7;
constexpr double seconds_per_run = 1.5;
constexpr std::int64_t batch_size = 64;
constexpr std::int64_t classes = 10;

struct ComputeCase {
  std::string network;
  std::vector<std::int64_t> image;
  model::Arguments arguments = {};
};

Batch batch_for(const DataShape& shape) {
  Batch batch{.examples = batch_size, .features = {}, .labels = {}, .targets = {}};
  for (std::int64_t i = 0; i < batch_size * shape.features; ++i) {
    batch.features.push_back(static_cast<float>(i * 7919 % 1009) / 1009);
  }
  for (std::int32_t i = 0; i < batch_size; ++i) batch.labels.push_back((7 * i + 3) % classes);
  return batch;
}

class GradientRun {
 public:
  explicit GradientRun(const ComputeCase& of)
      : shape_{.example = of.image,
               .features = of.image[0] * of.image[1] * of.image[2],
               .classes = classes},
        model_(built(of, shape_)),
        batch_(batch_for(shape_)),
        parameters_(static_cast<std::size_t>(model_.arena_elements())),
        gradients_(static_cast<std::size_t>(model_.arena_elements())) {
    model_.initialize(1, parameters_.span());
    step();
  }

  double steps_per_cpu_second() {
    const double start = cpu_seconds_self();
    int steps = 0;
    while (steps < 2 || cpu_seconds_self() - start < seconds_per_run) {
      step();
      ++steps;
    }
    return steps / (cpu_seconds_self() - start);
  }

 private:
  static Model built(const ComputeCase& of, const DataShape& shape) {
    auto model = Model::build(models::zoo(of.network, of.arguments), shape,
                              {.batch_size = batch_size, .seed = 1});
    ENSURE(model.has_value());
    return std::move(*model);
  }

  void step() { model_.gradient(parameters_.span(), batch_, gradients_.span()); }

  DataShape shape_;
  Model model_;
  Batch batch_;
  AlignedBuffer parameters_;
  AlignedBuffer gradients_;
};

std::vector<BenchResult> bench_network(const ComputeCase& of) {
  GradientRun run(of);
  Samples ours, peers, ratios;
  std::string setup;
  for (int i = 0; i < compute_runs; ++i) {
    ours.add(run.steps_per_cpu_second());
    const auto peer = pytorch_gradient_rate({of.network, batch_size});
    if (!peer) continue;
    setup = peer->setup;
    peers.add(peer->steps_per_cpu_second);
    ratios.add(ours.values.back() / peers.values.back());
  }
  std::vector<BenchResult> results;
  const auto report = [&](const Samples& samples, const std::string& name, const char* unit) {
    if (samples.values.empty()) return;
    BenchResult result = summary_of(samples);
    result.bench = "compute";
    result.case_name = of.network + name;
    result.unit = unit;
    results.push_back(std::move(result));
  };
  report(ours, "", "steps/cpu-s");
  report(peers, ", PyTorch (" + setup + ")", "steps/cpu-s");
  report(ratios, ", ours by PyTorch's", "x");
  return results;
}

}  // namespace

std::vector<BenchResult> bench_compute() {
  const std::vector<ComputeCase> cases{{"lenet5", {28, 28, 1}},
                                       {"cifar_cnn", {32, 32, 3}},
                                       {"resnet18", {32, 32, 3}, {{"stem", "cifar"}}}};
  std::vector<BenchResult> results;
  for (const ComputeCase& one : cases) {
    for (BenchResult& result : bench_network(one)) results.push_back(std::move(result));
  }
  return results;
}

}  // namespace trainyard::bench
