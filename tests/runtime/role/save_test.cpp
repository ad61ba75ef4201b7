// What a checkpoint says of itself, and the order to save one and then to make no more progress.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/environment.h"
#include "tests/runtime/role/job_runs.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::small_job, test::micro_batch_job, test::long_job, test::run, test::Codes,
    test::all_of, test::last_of;

void order_to_save(const Job& job) {
  std::filesystem::create_directories(job.folder("worker/0"));
  std::ofstream(job.folder("worker/0") + "/" + save_order_file);
}

std::int64_t reported_step(const Job& job) {
  const auto metrics = all_of<MetricEvent>(job, "worker/0");
  return metrics.empty() ? 0 : metrics.back().step;
}

// Until the chief has committed a checkpoint of `step` or later.
void wait_for_checkpoint(Job& job, std::int64_t step) {
  for (std::int64_t saved = 0; saved < step;) {
    const std::string line = job.task("worker/0").wait_for_line("checkpoint committed");
    const std::string key = "\"step\":";
    const auto at = line.find(key);
    INFO(job.task("worker/0").output());
    REQUIRE(at != std::string::npos);
    saved = std::atoll(line.c_str() + at + key.size());
  }
}

// The chief has saved and holds; all are ended then, as a suspension does.
RestoreFrom save_and_stop(Job& job) {
  const std::string said = job.task("worker/0").wait_for_line("saved as ordered");
  INFO(job.task("worker/0").output());
  REQUIRE_FALSE(said.empty());
  CHECK(job.stop_all().at("worker/0") == 128 + SIGTERM);
  const ManifestEvent last = last_of<ManifestEvent>(job, "worker/0");
  CHECK(last.final_one);
  CHECK(reported_step(job) <= last.step);  // and it made no step after it
  return job.newest_checkpoint().value();
}

// A loss that is none after about a dozen steps.
JobSpec diverging_job() {
  JobSpec spec = small_job();
  spec.worker.replicas = 1;
  models::set_argument(spec.model, "activation", "relu");
  spec.training.optimizer = {};
  spec.training.optimizer.learning_rate = 1000;
  spec.training.optimizer.weight_decay = 1;  // weights grow by a factor of -999 with each step
  return spec;
}

constexpr std::int64_t interrupted_steps = is_sanitized ? 500 : 1500;

JobSpec interrupted_job(std::int64_t ps, std::int64_t workers) {
  JobSpec spec = micro_batch_job(workers, ps);
  spec.training.max_steps = interrupted_steps;
  spec.training.report_every_steps = 1;
  spec.checkpoint.every_steps = 20;
  return spec;
}

// That a ps has made when it ends.
std::int64_t last_version_of(Job& job, const std::string& ps) {
  const std::string line = job.task(ps).wait_for_line("ps ends");
  const std::string key = "\"version\":";
  REQUIRE(line.find(key) != std::string::npos);
  return std::atoll(line.c_str() + line.find(key) + key.size());
}

}  // namespace

// Its checkpoint waits for a gradient that it never makes.
TEST_CASE("an async chief that fails says so, whatever its checkpoint waits for", "[save]") {
  for (const std::int64_t every : {2, 3, 4, 5, 7}) {
    JobSpec spec = diverging_job();
    spec.mode = Mode::async;
    spec.checkpoint.every_steps = every;
    Job job(spec);
    job.start();
    CHECK(job.task("worker/0").wait() == 1);
    CHECK(last_of<FailureEvent>(job, "worker/0").reason == "NAN_LOSS");
    job.stop_all();
  }
}

TEST_CASE("a checkpoint that a disk does not take is no peer's fault", "[save]") {
  for (const char* task : {"ps/0", "worker/0"}) {
    JobSpec spec = small_job();
    spec.training.max_steps = 10;
    Job job(spec);
    std::filesystem::create_directories(job.folder(task));
    std::ofstream(job.folder(task) + "/step-10") << "no folder";
    job.start();
    CHECK(job.task("worker/0").wait() == 1);
    const auto failure = last_of<FailureEvent>(job, "worker/0");
    CHECK(failure.reason == "CHECKPOINT_FAILED");
    CHECK_THAT(failure.message, Catch::Contains("step-10"));
    job.stop_all();
  }
}

TEST_CASE("while many checkpoints wait to be delivered only the end is saved", "[save]") {
  const int waiting = GENERATE(8, 40);
  Job job(small_job());
  job.without_delivery();
  for (int i = 0; i < waiting; ++i) {
    const std::string folder = job.folder("worker/0") + "/step-" + std::to_string(1000 + i);
    std::filesystem::create_directories(folder);
    std::filesystem::last_write_time(
        folder, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(2));
  }
  run(job);
  const auto saved = all_of<ManifestEvent>(job, "worker/0");
  REQUIRE_FALSE(saved.empty());
  CHECK(saved.back().step == 60);
  CHECK((saved.size() == 1) == (waiting == 40));
}

TEST_CASE("a checkpoint's test metrics are of its own step", "[job][mend-B2][threads]") {
  JobSpec spec = small_job();
  spec.training.strategy = GENERATE(Strategy::parameter_server, Strategy::all_reduce);
  spec.ps.replicas = spec.training.strategy == Strategy::all_reduce ? 0 : 2;
  spec.training.evaluate_every_steps = 1000;  // never else
  spec.training.report_every_steps = 7;
  Job whole(spec);
  run(whole);
  spec.training.max_steps = 20;  // whose last evaluation is of what it saves
  Job part(spec);
  run(part);

  const auto saved = all_of<ManifestEvent>(whole, "worker/0");
  REQUIRE(saved.size() == 3);
  const auto of_end = last_of<ManifestEvent>(part, "worker/0").metrics;
  for (const char* name : {"test_loss", "test_accuracy"}) {
    CHECK(saved[0].metrics.at(name) == of_end.at(name));
    CHECK(saved[1].metrics.at(name) != of_end.at(name));
  }
  for (const MetricEvent& event : all_of<MetricEvent>(whole, "worker/0")) {
    for (const ManifestEvent& manifest : saved) {
      if (event.step == manifest.step) CHECK(event.values == manifest.metrics);
    }
  }
}

TEST_CASE("without keep_best a checkpoint has no test metrics of another step", "[job][mend-B2]") {
  JobSpec spec = small_job();
  spec.checkpoint.keep_best = 0;
  spec.training.evaluate_every_steps = 10;
  spec.checkpoint.every_steps = 15;
  Job job(spec);
  run(job);
  for (const ManifestEvent& manifest : all_of<ManifestEvent>(job, "worker/0")) {
    const bool evaluated = manifest.step % 10 == 0;
    INFO("step " << manifest.step);
    CHECK(manifest.metrics.contains("test_loss") == evaluated);
    CHECK(manifest.metrics.contains("loss"));
  }
}

TEST_CASE("a job that is told to save goes on to the same bytes", "[job][mend-B4]") {
  const std::int64_t ps = GENERATE(0, 1, 3);  // 0: an all-reduce
  Job whole(interrupted_job(ps, 2));
  run(whole);
  Job first(interrupted_job(ps, 2));
  first.start();
  const std::int64_t step = GENERATE(20, 140);
  wait_for_checkpoint(first, step);
  order_to_save(first);
  const RestoreFrom saved = save_and_stop(first);
  CHECK(saved.step > step);
  CHECK(saved.step < interrupted_steps);
  Job rest(interrupted_job(ps, 2), saved);
  run(rest);
  CHECK(rest.final_weights() == whole.final_weights());
}

TEST_CASE("an order that was there before the chief is obeyed at its first step",
          "[job][mend-B4]") {
  Job job(interrupted_job(2, 2));
  order_to_save(job);
  job.start();
  CHECK(save_and_stop(job).step == 1);
}

TEST_CASE("an order that comes with the last step changes nothing", "[job][mend-B4]") {
  JobSpec spec = interrupted_job(1, 1);
  spec.training.max_steps = 1;
  Job job(spec);
  order_to_save(job);
  run(job);
  CHECK(last_of<ManifestEvent>(job, "worker/0").step == 1);
}

TEST_CASE("the residuals of onebit are in what is saved on order", "[job][mend-B4]") {
  JobSpec spec = interrupted_job(2, 2);
  spec.training.wire = wire_by_word(Wire::onebit);
  Job whole(spec);
  run(whole);
  Job first(spec);
  first.start();
  wait_for_checkpoint(first, 40);
  order_to_save(first);
  Job rest(spec, save_and_stop(first));
  run(rest);
  CHECK(rest.final_weights() == whole.final_weights());
}

TEST_CASE("in async nobody pushes after what is saved on order, and it is tested",
          "[job][mend-B2][mend-B4][threads]") {
  JobSpec spec = long_job();
  spec.mode = Mode::async;
  spec.training.max_steps = 50'000;
  spec.worker.replicas = 3;
  spec.training.report_every_steps = 1;
  Job first(spec);
  first.start();
  wait_for_checkpoint(first, 100);
  order_to_save(first);
  const std::string said = first.task("worker/0").wait_for_line("saved as ordered");
  INFO(first.task("worker/0").output());
  REQUIRE_FALSE(said.empty());
  const ShardEvent at_save = last_of<ShardEvent>(first, "ps/0");
  static_cast<void>(first.stop_all());
  CHECK(last_version_of(first, "ps/0") == at_save.version);
  CHECK(last_version_of(first, "ps/1") == at_save.version);
  for (const ManifestEvent& manifest : all_of<ManifestEvent>(first, "worker/0")) {
    CHECK(manifest.metrics.contains("test_loss"));  // of the cut, which nobody has pulled
    CHECK_FALSE(manifest.metrics.contains("loss"));
  }
  const auto saved = first.newest_checkpoint();
  REQUIRE(saved);
  spec.training.max_steps = saved->step + 500;
  Job rest(spec, saved);
  run(rest);
  test::check_ledger(rest);
}

TEST_CASE("backup workers make no step after what is saved on order", "[job][mend-B4]") {
  JobSpec spec = small_job();
  spec.worker.replicas = 3;
  spec.ps.replicas = 2;
  spec.training.max_steps = 50'000;  // more than it makes before the order comes
  spec.training.report_every_steps = 1;
  spec.checkpoint.every_steps = 50;
  Job first(spec);
  first.aggregate(2).start();
  wait_for_checkpoint(first, 50);
  order_to_save(first);
  const std::string said = first.task("worker/0").wait_for_line("saved as ordered");
  INFO(first.task("worker/0").output());
  REQUIRE_FALSE(said.empty());
  const std::int64_t saved = last_of<ManifestEvent>(first, "worker/0").step;
  static_cast<void>(first.stop_all());
  CHECK(last_version_of(first, "ps/0") == saved);
  CHECK(last_version_of(first, "ps/1") == saved);
}

}  // namespace trainyard::runtime
