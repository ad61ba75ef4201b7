// Training as users run it: one process alone, 1 ps with 2 workers sync and async, and an
// all-reduce of two, beside PyTorch.
#include <unistd.h>

#include <array>
#include <filesystem>

#include "schemas/base/check.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/bench/bench.h"
#include "tests/bench/pytorch_peer.h"
#include "tests/bench/training_run.h"

namespace trainyard::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRuns = 7;

struct Workload {
  std::string name;
  PeerMlp model;
  std::int64_t batch_size = 0;
  std::int64_t batches = 0;  // of all workers together
};

struct Setting {
  std::string name;
  Mode mode = Mode::sync;
  Strategy strategy = Strategy::parameter_server;
  std::int64_t workers = 2;

  [[nodiscard]] std::int64_t batches_per_step() const { return mode == Mode::sync ? workers : 1; }
};

JobSpec job_of(const Workload& workload, const Setting& setting) {
  const auto parsed = parse_job_spec(R"({
    "model": "mlp", "mode": "sync", "roles": {"ps": 1, "worker": 2},
    "dataset": {"name": "synthetic_digits", "train_examples": 5000, "test_examples": 100}})");
  ENSURE(std::holds_alternative<JobSpec>(parsed));
  JobSpec spec = std::get<JobSpec>(parsed);
  spec.model = workload.model.written();
  spec.mode = setting.mode;
  spec.training.strategy = setting.strategy;
  spec.training.batch_size = workload.batch_size;
  spec.training.epochs.reset();
  spec.training.max_steps = workload.batches / setting.batches_per_step();
  spec.training.optimizer.learning_rate = 0.1;
  spec.training.replicas_to_aggregate = setting.workers;
  spec.training.report_every_steps = std::max<std::int64_t>(*spec.training.max_steps / 10, 1);
  spec.training.evaluate_every_steps = INT32_MAX;
  spec.ps.replicas = setting.strategy == Strategy::parameter_server ? 1 : 0;
  spec.worker.replicas = setting.workers;
  spec.checkpoint.every_steps = 0;
  spec.checkpoint.every_seconds = 0;
  return spec;
}

std::vector<BenchResult> bench_training(const Workload& workload) {
  const std::vector<Setting> settings{
      {"one process", Mode::sync, Strategy::local, 1},
      {"1 ps 2 workers sync", Mode::sync, Strategy::parameter_server, 2},
      {"1 ps 2 workers async", Mode::async, Strategy::parameter_server, 2},
      {"all-reduce of 2", Mode::sync, Strategy::all_reduce, 2}};
  const fs::path folder =
      fs::temp_directory_path() / ("trainyard-bench-" + std::to_string(::getpid()));

  constexpr std::array peers{PytorchMode::one_process, PytorchMode::ddp_of_two,
                             PytorchMode::rpc_sync, PytorchMode::rpc_async};
  constexpr std::array peer_names{"PyTorch, one process", "PyTorch DDP, two processes",
                                  "PyTorch RPC, 1 ps 2 workers sync",
                                  "PyTorch RPC, 1 ps 2 workers async"};
  std::array<Samples, peers.size()> peer_examples;
  std::vector<Samples> steps(settings.size());
  std::vector<Samples> examples(settings.size());
  std::vector<Samples> longest_parts(settings.size());
  for (int i = 0; i < kRuns; ++i) {
    for (std::size_t which = 0; which < settings.size(); ++which) {
      const Setting& setting = settings[which];
      const double cpu = cpu_seconds_children();
      const TrainingRates rates = TrainingRun(job_of(workload, setting), folder).rates();
      const double rate = rates.steps_per_second;
      const double longest_part = rates.longest_part;
      const auto per_step = static_cast<double>(setting.batches_per_step() * workload.batch_size);
      steps[which].add(rate);
      longest_parts[which].add(longest_part);
      examples[which].add(rate * per_step);
      examples[which].cpu_seconds += cpu_seconds_children() - cpu;
      examples[which].units += static_cast<double>(workload.batches * workload.batch_size);
    }
    for (std::size_t which = 0; which < peers.size(); ++which) {
      const auto rate =
          pytorch_examples_per_second(peers.at(which), workload.model, workload.batch_size);
      if (rate) peer_examples.at(which).add(*rate);
    }
  }

  std::vector<BenchResult> results;
  for (std::size_t which = 0; which < settings.size(); ++which) {
    for (const bool of_examples : {false, true}) {
      BenchResult result = summary_of(of_examples ? examples[which] : steps[which]);
      result.bench = workload.name;
      result.case_name = settings[which].name;
      result.unit = of_examples ? "examples/s" : "steps/s";
      if (of_examples && which > 0) {
        result.limit = results[1].value * static_cast<double>(settings[which].workers);
        result.limit_of = "two processes without exchange";
      }
      results.push_back(result);
    }
    BenchResult longest_part = summary_of(longest_parts[which]);
    longest_part.bench = workload.name;
    longest_part.case_name = settings[which].name + ", longest part";
    longest_part.unit = "of a step";
    results.push_back(longest_part);
  }
  for (std::size_t which = 0; which < peers.size(); ++which) {
    if (peer_examples.at(which).values.empty()) continue;
    BenchResult result = summary_of(peer_examples.at(which));
    result.bench = workload.name;
    result.case_name = peer_names.at(which);
    result.unit = "examples/s";
    results.push_back(result);
  }
  return results;
}

}  // namespace

std::vector<BenchResult> bench_train_mlp() {
  return bench_training({"train_mlp", {{100}, "sigmoid"}, 100, 4000});
}

std::vector<BenchResult> bench_train_big_mlp() {
  return bench_training({"train_big_mlp", {{2048, 2048}, "relu"}, 128, 80});
}

}  // namespace trainyard::bench
