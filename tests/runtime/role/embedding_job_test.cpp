// Jobs with an embedding table, which is on the ps alone: the same rows, whoever learns them.
#include <signal.h>

#include <catch2/catch.hpp>

#include "runtime/files/row_tensors.h"
#include "tests/environment.h"
#include "tests/runtime/role/sparse_job.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::logistic_job, test::made_data, test::published, test::run,
    test::test_accuracy_of;

constexpr std::int64_t embedding_size = 6;

// Adam on a table of 7 columns and a small mlp, steps of 12 micro-batches.
JobSpec embedding_job(DatasetSpec dataset) {
  JobSpec spec = logistic_job(std::move(dataset));
  spec.model = models::zoo("wide_and_deep", {{"hidden", models::widths({8})},
                                             {"activation", "relu"},
                                             {"embedding_size", embedding_size}});
  spec.training.optimizer.learning_rate = 0.02;
  spec.training.global_batch_size = 48;
  spec.training.micro_batch_size = 4;
  return spec;
}

void put(JobSpec& spec, std::int64_t workers, std::int64_t ps) {
  spec.worker.replicas = workers;
  spec.ps.replicas = ps;
  if (ps == 0) spec.training.strategy = Strategy::all_reduce;
  if (ps == 0 && workers == 1) spec.training.strategy = Strategy::local;
}

// All rows of the final checkpoint, and the weights of the arena: every float that was learned.
struct Learned {
  std::vector<std::int64_t> ids;
  std::vector<float> rows;  // with their slots
  std::vector<float> weights;
  bool operator==(const Learned&) const = default;
};

Learned learned_by(const Job& job) {
  const auto checkpoint = job.newest_checkpoint();
  REQUIRE(checkpoint);
  RowTables table({.variables = {{.name = "wide/kernel", .columns = 1, .bound = 0},
                                 {.name = "embedding/kernel", .columns = embedding_size}}},
                  1, {.kind = OptimizerKind::adam});
  const std::vector<std::string> slots{"m", "v"};
  const Status restored = restore_rows(
      {.folder = checkpoint->folder, .files = checkpoint->shards, .slot_names = slots}, table);
  if (!restored.has_value()) FAIL(restored.error().message);
  Learned learned{.ids = {}, .rows = {}, .weights = job.final_weights()};
  for (const RowTable::Stored& row : table.table(0).stored()) {
    learned.ids.push_back(row.id);
    learned.rows.insert(learned.rows.end(), row.floats, row.floats + table.table(0).stride());
  }
  return learned;
}

Learned train(const JobSpec& spec, std::optional<RestoreFrom> from = std::nullopt) {
  Job job(spec, std::move(from));
  run(job);
  return learned_by(job);
}

}  // namespace

TEST_CASE("workers, ps and strategies change no bit of an embedding table", "[job][sparse]") {
  const TempFolder folder;
  JobSpec spec = embedding_job(made_data(folder));
  const Learned expected = train(spec);
  CHECK(expected.ids.size() == 50);
  using Shapes = std::vector<std::pair<int, int>>;
  const auto shapes =
      either<Shapes>({{1, 1}, {2, 3}, {3, 2}, {8, 1}, {3, 0}, {1, 0}}, {{3, 2}, {2, 0}});
  for (const auto& [workers, ps] : shapes) {
    INFO(workers << " workers, " << ps << " ps");
    JobSpec other = spec;
    put(other, workers, ps);
    CHECK(train(other) == expected);
  }
}

TEST_CASE("an embedding table goes on from a checkpoint on another number of ps and workers",
          "[job][sparse]") {
  const TempFolder folder;
  JobSpec spec = embedding_job(made_data(folder));
  const Learned expected = train(spec);

  JobSpec half = spec;
  half.training.max_steps = 30;
  put(half, 3, 2);
  Job first(half);
  run(first);
  put(spec, 2, 3);
  CHECK(train(spec, first.newest_checkpoint()) == expected);
}

TEST_CASE("a killed job with an embedding table resumes to the bytes of one that was not",
          "[job][sparse]") {
  const TempFolder folder;
  JobSpec spec = embedding_job(made_data(folder));
  put(spec, 2, 2);
  spec.training.max_steps = is_sanitized ? 250 : 600;
  spec.checkpoint.every_steps = 50;
  const Learned expected = train(spec);
  using Victims = std::vector<const char*>;
  for (const char* const victim : either<Victims>({"ps/1", "worker/1"}, {"ps/1"})) {
    INFO("killed " << victim);
    Job killed(spec);
    killed.start();
    REQUIRE_FALSE(killed.task("worker/0").wait_for_line("checkpoint committed").empty());
    killed.task(victim).signal(SIGKILL);
    CHECK(killed.task("worker/0").wait() == 1);
    for (const char* const ps : {"ps/0", "ps/1"}) killed.task(ps).signal(SIGTERM);
    static_cast<void>(killed.wait_all());
    const auto checkpoint = killed.newest_checkpoint();
    REQUIRE(checkpoint);
    REQUIRE(checkpoint->step < spec.training.max_steps);
    CHECK(train(spec, checkpoint) == expected);
  }
}

TEST_CASE("async workers learn an embedding table, save it and go on from there", "[job][sparse]") {
  const TempFolder folder;
  JobSpec spec = embedding_job(made_data(folder));
  spec.training.global_batch_size = spec.training.micro_batch_size = std::nullopt;
  spec.mode = Mode::async;
  put(spec, 3, 2);
  spec.training.max_steps = 300;
  CHECK(test_accuracy_of(spec) >= 0.9);

  spec.training.max_steps = 100;
  Job first(spec);
  run(first);
  spec.training.max_steps = 300;
  Job rest(spec, first.newest_checkpoint());
  run(rest);
  CHECK(learned_by(rest).ids.size() == 50);
}

TEST_CASE("with backup workers an embedding table is learned on after it was saved",
          "[job][sparse]") {
  const TempFolder folder;
  JobSpec spec = embedding_job(made_data(folder));
  spec.training.global_batch_size = spec.training.micro_batch_size = std::nullopt;
  spec.training.replicas_to_aggregate = 2;
  spec.checkpoint.every_steps = 20;
  put(spec, 3, 2);
  spec.training.max_steps = 100;
  Job job(spec);
  run(job);
  CHECK(test::all_of<ManifestEvent>(job, "worker/0").size() >= 2);
  CHECK(learned_by(job).ids.size() == 50);
}

TEST_CASE("sums of rows are asked for in async where they are fewer bytes", "[job][sparse]") {
  const TempFolder folder;
  JobSpec spec = embedding_job(made_data(folder));
  spec.training.global_batch_size = spec.training.micro_batch_size = std::nullopt;
  spec.training.max_steps = 50;
  put(spec, 1, 1);
  const auto pooled = [&spec](Mode mode, std::int64_t batch_size) {
    spec.mode = mode;
    spec.training.batch_size = batch_size;
    Job job(spec);
    run(job);
    double most = 0;
    for (const RunEvent& event : job.events("worker/0")) {
      const auto* const metric = std::get_if<MetricEvent>(&event.what);
      if (metric == nullptr || !metric->values.contains("pooled_lookups_per_step")) continue;
      most = std::max(most, metric->values.at("pooled_lookups_per_step"));
    }
    return most;
  };
  CHECK(pooled(Mode::async, 1) == 1);    // 6 ids, one example
  CHECK(pooled(Mode::async, 200) == 0);  // 50 ids, 200 examples
  CHECK(pooled(Mode::sync, 1) == 0);     // its bits must not depend on the number of ps
}

TEST_CASE("wide and deep learns agaricus", "[job][sparse]") {
  const auto dataset = published("agaricus.txt.train", "agaricus.txt.test");
  if (!dataset) return;
  JobSpec spec = embedding_job(*dataset);
  put(spec, 2, 2);
  spec.training.max_steps = 300;
  CHECK(test_accuracy_of(spec) >= 0.99);
}

TEST_CASE("a row whose gradient is no number ends a job, though its loss is one", "[job][sparse]") {
  const TempFolder folder;
  std::string lines;  // the sum of a step's gradients of the one row is beyond all floats
  for (int i = 0; i < 100; ++i) lines += i % 2 == 0 ? "+1 1:1e38\n" : "-1 1:1e38\n";
  write_content(folder.path("steep"), lines);
  JobSpec spec = embedding_job(made_data(folder));
  spec.dataset.path = spec.dataset.test_path = folder.path("steep");
  spec.worker.replicas = 1;
  Job job(spec);
  job.start();
  CHECK(job.task("worker/0").wait() == 1);
  job.stop_all();
  const auto events = job.events("worker/0");
  const auto* const failure = std::get_if<FailureEvent>(&events.back().what);
  REQUIRE(failure != nullptr);
  CHECK(failure->reason == "NAN_LOSS");
  CHECK_THAT(failure->message, Catch::Matchers::Contains("the gradient of step 1 is not a finite"));
}

}  // namespace trainyard::runtime
