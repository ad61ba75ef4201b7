#include "tests/bench/training_workload.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "schemas/base/check.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/bench/training_run.h"

namespace trainyard::bench {
namespace {

namespace fs = std::filesystem;

// Of one setting, run by run.
struct SettingSamples {
  Samples steps;  // per second
  Samples examples;
  Samples longest_part;
  Samples by_ddp;  // examples per second, ours by DDP's
};

// As the runtime gets it; without checkpoints.
JobSpec job_of(const Workload& workload, const Setting& setting) {
  const auto parsed = parse_job_spec(R"({
    "model": "mlp", "mode": "sync", "roles": {"ps": 1, "worker": 2},
    "dataset": {"name": "synthetic_digits"}})");
  ENSURE(std::holds_alternative<JobSpec>(parsed));
  JobSpec spec = std::get<JobSpec>(parsed);
  spec.model = workload.model;
  spec.dataset = workload.dataset;
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

void run_setting(const Workload& workload, const Setting& setting, SettingSamples& samples) {
  const fs::path folder =
      fs::temp_directory_path() / ("trainyard-bench-" + std::to_string(::getpid()));
  const double cpu = cpu_seconds_children();
  const TrainingRates rates = TrainingRun(job_of(workload, setting), folder).rates();
  const auto per_step = static_cast<double>(setting.batches_per_step() * workload.batch_size);
  samples.steps.add(rates.steps_per_second);
  samples.longest_part.add(rates.longest_part);
  samples.examples.add(rates.steps_per_second * per_step);
  samples.examples.cpu_seconds += cpu_seconds_children() - cpu;
  samples.examples.units += static_cast<double>(workload.batches * workload.batch_size);
}

// Examples per second of this run, which are added to the samples.
std::optional<double> run_peer(const Peer& peer, Samples& samples) {
  const std::optional<PeerRate> rate = peer.measure();
  if (!rate) return std::nullopt;
  samples.add(rate->examples_per_second);
  samples.cpu_seconds += rate->cpu_seconds_per_example;
  samples.units += 1;
  return rate->examples_per_second;
}

class Report {
 public:
  explicit Report(std::string bench) : bench_(std::move(bench)) {}

  // Nothing where there are no samples: a peer that is not installed.
  void add(const Samples& samples, std::string name, const char* unit) {
    if (samples.values.empty()) return;
    BenchResult result = summary_of(samples);
    result.bench = bench_;
    result.case_name = std::move(name);
    result.unit = unit;
    results_.push_back(std::move(result));
  }
  BenchResult& last() { return results_.back(); }
  [[nodiscard]] std::vector<BenchResult> results() && { return std::move(results_); }

 private:
  std::string bench_;
  std::vector<BenchResult> results_;
};

}  // namespace

std::vector<Setting> sync_settings() {
  return {{"one process", Mode::sync, Strategy::local, 1},
          {"1 ps 2 workers sync", Mode::sync, Strategy::parameter_server, 2},
          {"all-reduce of 2", Mode::sync, Strategy::all_reduce, 2}};
}

std::vector<Setting> all_settings() {
  std::vector<Setting> settings = sync_settings();
  settings.insert(settings.begin() + 2,
                  {"1 ps 2 workers async", Mode::async, Strategy::parameter_server, 2});
  return settings;
}

DatasetSpec digits_to_train() {
  return {.name = "synthetic_digits",
          .format = "synthetic_digits",
          .path = "",
          .train_examples = 5000,
          .test_examples = 100,
          .label_column = ""};
}

std::vector<BenchResult> bench_training(const Workload& workload) {
  const std::vector<Setting>& settings = workload.settings;
  std::vector<SettingSamples> samples(settings.size());
  Samples ddp;
  std::vector<Samples> others(workload.other_peers.size());
  for (int i = 0; i < workload.runs; ++i) {
    for (std::size_t which = 0; which < settings.size(); ++which) {
      run_setting(workload, settings[which], samples[which]);
    }
    if (const std::optional<double> rate = run_peer(workload.ddp, ddp)) {
      for (SettingSamples& each : samples) each.by_ddp.add(each.examples.values.back() / *rate);
    }
    for (std::size_t which = 0; which < others.size(); ++which) {
      run_peer(workload.other_peers[which], others[which]);
    }
  }

  Report report(workload.name);
  const double alone = summary_of(samples.front().examples).value;
  for (std::size_t which = 0; which < settings.size(); ++which) {
    const Setting& setting = settings[which];
    report.add(samples[which].steps, setting.name, "steps/s");
    report.add(samples[which].examples, setting.name, "examples/s");
    if (which > 0) {
      report.last().limit = alone * static_cast<double>(setting.workers);
      report.last().limit_of = "two processes without exchange";
      report.add(samples[which].by_ddp, setting.name + " by PyTorch DDP's", "x");
    }
    report.add(samples[which].longest_part, setting.name + ", longest part", "of a step");
  }
  report.add(ddp, workload.ddp.name, "examples/s");
  for (std::size_t which = 0; which < others.size(); ++which) {
    report.add(others[which], workload.other_peers[which].name, "examples/s");
  }
  return std::move(report).results();
}

}  // namespace trainyard::bench
