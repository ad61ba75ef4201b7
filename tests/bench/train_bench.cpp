// Training as users run it: one process alone, 1 ps with 2 workers sync and async, and an
// all-reduce of two, beside PyTorch.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/bench/bench.h"
#include "tests/bench/pytorch_peer.h"
#include "tests/bench/training_run.h"

namespace trainyard::bench {
namespace {

namespace fs = std::filesystem;

constexpr int kRuns = 7;

// PyTorch training the same, in one way: examples per second, nothing where there is no PyTorch.
struct Peer {
  std::string name;
  std::function<std::optional<double>()> examples_per_second;
};

struct Workload {
  std::string name;
  model::Written model;
  std::int64_t batch_size = 0;
  std::int64_t batches = 0;  // of all workers together
  std::vector<Peer> peers;
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
  spec.model = workload.model;
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

  std::vector<Samples> peer_examples(workload.peers.size());
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
    for (std::size_t which = 0; which < workload.peers.size(); ++which) {
      const auto rate = workload.peers[which].examples_per_second();
      if (rate) peer_examples[which].add(*rate);
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
  for (std::size_t which = 0; which < workload.peers.size(); ++which) {
    if (peer_examples[which].values.empty()) continue;
    BenchResult result = summary_of(peer_examples[which]);
    result.bench = workload.name;
    result.case_name = workload.peers[which].name;
    result.unit = "examples/s";
    results.push_back(result);
  }
  return results;
}

Workload mlp_workload(std::string name, const PeerMlp& model, std::int64_t batch_size,
                      std::int64_t batches) {
  constexpr std::array modes{
      std::pair{PytorchMode::one_process, "PyTorch, one process"},
      std::pair{PytorchMode::ddp_of_two, "PyTorch DDP, two processes"},
      std::pair{PytorchMode::rpc_sync, "PyTorch RPC, 1 ps 2 workers sync"},
      std::pair{PytorchMode::rpc_async, "PyTorch RPC, 1 ps 2 workers async"}};
  Workload workload{std::move(name), model.written(), batch_size, batches, {}};
  for (const auto& [mode, peer] : modes) {
    workload.peers.push_back({peer, [mode = mode, model, batch_size] {
                                return pytorch_examples_per_second(mode, model, batch_size);
                              }});
  }
  return workload;
}

}  // namespace

std::vector<BenchResult> bench_train_mlp() {
  return bench_training(mlp_workload("train_mlp", {{100}, "sigmoid"}, 100, 4000));
}

std::vector<BenchResult> bench_train_big_mlp() {
  return bench_training(mlp_workload("train_big_mlp", {{2048, 2048}, "relu"}, 128, 80));
}

std::vector<BenchResult> bench_train_cnn() {
  const PytorchNetwork peer{"lenet5", 64};
  return bench_training(
      {"train_cnn",
       models::zoo(peer.network),
       peer.batch_size,
       800,
       {{"PyTorch DDP, two processes", [peer] { return pytorch_ddp_examples_per_second(peer); }}}});
}

}  // namespace trainyard::bench
