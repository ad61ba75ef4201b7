// Embedding tables: wide and deep on sparse data, batches of 512 examples of 20 ids each, and
// DeepFM on columns, of 26 ids and 13 numbers, as real processes. One process alone is one core, as
// the peer; with a ps the table is there alone. What a worker needs of memory is measured too: the
// table's rows are no part of it.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/core/counter_rng.h"
#include "schemas/base/check.h"
#include "schemas/wire/job_spec_json.h"
#include "schemas/wire/spec_names.h"
#include "tests/bench/bench.h"
#include "tests/bench/pytorch_peer.h"
#include "tests/bench/training_run.h"
#include "tests/support/models.h"

namespace trainyard::bench {
namespace {

namespace fs = std::filesystem;

constexpr int runs = 7;
constexpr std::int64_t examples = 100'000;  // nearly 2 million different ids among 10 million
constexpr std::int64_t batch_size = 512;
constexpr std::int64_t embedding_size = 16;
constexpr std::int64_t batches =
    2000;  // of all workers together: nearly all rows are made by a tenth

enum class Tasks { one_process, sync, async };

struct Case {
  std::string model;
  std::int64_t rows = 0;
  OptimizerName optimizer = OptimizerName::sgd;
  Tasks tasks = Tasks::sync;
  std::int64_t workers = 1;

  [[nodiscard]] std::string name() const {
    const std::string what = (model == "deepfm" ? "DeepFM, " : "") +
                             std::to_string(rows / 1'000'000) + "M rows, " +
                             std::string(find_name(optimizer_names, optimizer));
    if (tasks == Tasks::one_process) return what + ", one process";
    return what + (tasks == Tasks::async ? ", async" : "") + ", 1 ps " + std::to_string(workers) +
           (workers == 1 ? " worker" : " workers");
  }
  // That a step is of.
  [[nodiscard]] std::int64_t batches_each() const { return tasks == Tasks::async ? 1 : workers; }
  [[nodiscard]] std::int64_t ids() const { return model == "deepfm" ? 26 : 20; }  // of an example
};

// As Criteo's: a label, numbers, categories.
void write_columns(const fs::path& path, const Case& one) {
  constexpr int numbers = 13;
  const runtime::CounterRng rng(1, runtime::RngStream::synthetic);
  std::ofstream file(path);
  std::uint64_t draw = 0;
  for (std::int64_t example = 0; example < examples; ++example) {
    file << rng.bits(draw++) % 2;
    for (int i = 0; i < numbers; ++i) file << '\t' << rng.bits(draw++) % 100;
    for (std::int64_t i = 0; i < one.ids(); ++i) file << '\t' << rng.bits(draw++) % 1'000'000;
    file << '\n';
  }
  ENSURE(file.flush().good());
}

// Ids drawn evenly, so that nothing is gained by a cache.
void write_examples(const fs::path& path, const Case& one) {
  if (one.model == "deepfm") return write_columns(path, one);
  const runtime::CounterRng rng(1, runtime::RngStream::synthetic);
  std::ofstream file(path);
  std::uint64_t draw = 0;
  for (std::int64_t example = 0; example < examples; ++example) {
    std::set<std::uint64_t> ids;
    while (std::ssize(ids) < one.ids()) {
      ids.insert(1 + rng.bits(draw++) % static_cast<std::uint64_t>(one.rows));
    }
    file << (rng.bits(draw++) % 2 == 0 ? "-1" : "+1");
    for (const std::uint64_t id : ids) file << ' ' << id << ":1";
    file << '\n';
  }
  ENSURE(file.flush().good());
}

JobSpec job_of(const Case& one, const std::string& path) {
  const std::string model =
      one.model == "deepfm"
          ? R"({"model": "deepfm", "dataset": {"name": "clicks", "format": "recsys", "path": "/",
               "separator": "tab", "label_column": 0, "numeric": "1-13", "categorical": "14-39",
               "test_fraction": 0.001, "hash_buckets": )" +
                std::to_string(one.rows) + "}"
          : R"({"model": {"name": "wide_and_deep", "hidden": [16], "activation": "relu"},
               "dataset": {"name": "ids", "format": "libsvm", "path": "/",
                           "test_fraction": 0.001})";
  const auto parsed = parse_job_spec(model + R"(, "roles": {"ps": 1, "worker": 2},
    "checkpoint": {"every_steps": 0, "every_seconds": 0}})");
  ENSURE(std::holds_alternative<JobSpec>(parsed));
  JobSpec spec = std::get<JobSpec>(parsed);
  spec.mode = one.tasks == Tasks::async ? Mode::async : Mode::sync;
  models::set_argument(spec.model, "embedding_size", embedding_size);
  spec.dataset.path = path;
  if (one.model != "deepfm") spec.dataset.features = one.rows;
  spec.training.batch_size = batch_size;
  spec.training.epochs.reset();
  spec.training.max_steps = batches / one.batches_each();
  spec.training.optimizer.name = one.optimizer;
  spec.training.optimizer.learning_rate = one.model == "deepfm" ? 0.001 : 0.1;
  spec.training.replicas_to_aggregate = one.workers;
  spec.training.report_every_steps = *spec.training.max_steps / 10;
  spec.training.evaluate_every_steps = INT32_MAX;
  spec.worker.replicas = one.workers;
  if (one.tasks == Tasks::one_process) {
    spec.training.strategy = Strategy::local;
    spec.ps.replicas = 0;
  }
  return spec;
}

BenchResult result_of(const Case& one, const std::string& unit, const Samples& samples) {
  BenchResult result = summary_of(samples);
  result.bench = "embedding";
  result.case_name = one.name();
  result.unit = unit;
  return result;
}

}  // namespace

std::vector<BenchResult> bench_embedding() {
  using enum OptimizerName;
  const char* const wide_and_deep = "wide_and_deep";
  std::vector<Case> cases{{wide_and_deep, 1'000'000, sgd, Tasks::one_process},
                          {wide_and_deep, 1'000'000, adagrad, Tasks::one_process},
                          {"deepfm", 1'000'000, sgd, Tasks::one_process},
                          {"deepfm", 1'000'000, adagrad, Tasks::one_process},
                          {wide_and_deep, 1'000'000, sgd, Tasks::sync, 1},
                          {wide_and_deep, 1'000'000, sgd, Tasks::sync, 2},
                          {wide_and_deep, 1'000'000, sgd, Tasks::async, 1},
                          {wide_and_deep, 1'000'000, sgd, Tasks::async, 2},
                          {wide_and_deep, 1'000'000, adagrad, Tasks::sync, 1},
                          {"deepfm", 1'000'000, adagrad, Tasks::sync, 1},
                          {wide_and_deep, 10'000'000, sgd, Tasks::sync, 1},
                          {wide_and_deep, 10'000'000, adagrad, Tasks::sync, 1}};
  std::erase_if(cases, [](const Case& one) { return !is_asked_for(one.name()); });
  if (cases.empty()) return {};
  const fs::path folder =
      fs::temp_directory_path() / ("trainyard-bench-" + std::to_string(::getpid()));
  fs::create_directories(folder);
  const auto data = [&folder](const Case& one) {
    return folder / (one.model + "-" + std::to_string(one.rows));
  };
  for (const Case& one : cases) {
    if (!fs::exists(data(one))) write_examples(data(one), one);
  }

  std::vector<Samples> rates(cases.size());
  std::vector<Samples> worker_memory(cases.size());
  std::vector<Samples> ps_memory(cases.size());
  std::vector<Samples> peers(cases.size());
  for (int i = 0; i < runs; ++i) {
    std::fprintf(stderr, "run %d of %d, minutes each\n", i + 1, runs);
    for (std::size_t which = 0; which < cases.size(); ++which) {
      const Case& one = cases[which];
      const double cpu = cpu_seconds_children();
      const TrainingRates outcome = TrainingRun(job_of(one, data(one)), folder / "job").rates();
      rates[which].add(outcome.steps_per_second *
                       static_cast<double>(one.batches_each() * batch_size));
      rates[which].cpu_seconds += cpu_seconds_children() - cpu;
      rates[which].units += static_cast<double>(batches * batch_size);
      worker_memory[which].add(static_cast<double>(outcome.worker_bytes_max) / (1 << 20));
      ps_memory[which].add(static_cast<double>(outcome.ps_bytes_max) / (1 << 20));
      if (one.workers > 1 || one.tasks == Tasks::async) continue;
      const auto peer = pytorch_embedding_examples_per_second(
          {one.model, one.rows, embedding_size, batch_size, one.ids(), one.optimizer});
      if (peer) peers[which].add(*peer);
    }
  }
  fs::remove_all(folder);

  std::vector<BenchResult> results;
  for (std::size_t which = 0; which < cases.size(); ++which) {
    BenchResult rate = result_of(cases[which], "examples/s", rates[which]);
    const BenchResult peer = result_of(cases[which], "examples/s", peers[which]);
    rate.limit = peer.value;
    if (peer.n > 0) rate.limit_of = "PyTorch, one process";
    results.push_back(rate);
    if (cases[which].tasks == Tasks::one_process) continue;
    BenchResult memory = result_of(cases[which], "MiB of a worker", worker_memory[which]);
    memory.limit = 500;
    memory.limit_of = "what a worker may need";
    results.push_back(memory);
    results.push_back(result_of(cases[which], "MiB of the ps", ps_memory[which]));
  }
  return results;
}

}  // namespace trainyard::bench
