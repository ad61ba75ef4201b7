// Whole jobs whose gradients lose bits on the way: the same bytes whoever computes them, and after
// a restart.
#include <signal.h>

#include <catch2/catch.hpp>

#include "runtime/role/job_plan.h"
#include "schemas/wire/spec_names.h"
#include "tests/environment.h"
#include "tests/runtime/role/job_runs.h"
#include "tests/support/models.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::small_job, test::micro_batch_job, test::long_job, test::run, test::all_of,
    test::last_of, test::final_shards;

constexpr const char* zero_residuals = "residuals start at zero";

// Its gradients are worth less and less, and residuals with them.
JobSpec with_onebit(JobSpec spec) {
  spec.training.wire = wire_by_word(Wire::onebit);
  spec.training.optimizer.name = OptimizerName::momentum;
  spec.training.optimizer.schedule = {.name = ScheduleName::step, .step_size = 25, .gamma = 0.9};
  return spec;
}

double value_of(const Job& job, const char* metric) {
  return last_of<MetricEvent>(job, "worker/0").values.at(metric);
}

bool said(Job& job, const std::string& task, const char* text) {
  return job.task(task).output().find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("workers, ps and strategies change no bit of what a lossy wire makes",
          "[job][wire][threads]") {
  using Counts = std::vector<std::int64_t>;
  for (const Wire wire : {Wire::bfloat16, Wire::onebit}) {
    std::vector<float> expected;
    for (const std::int64_t workers : either<Counts>({1, 2, 3, 4}, {1, 3})) {
      for (const std::int64_t ps : either<Counts>({0, 1, 3}, {0, 3})) {
        INFO("wire " << static_cast<int>(wire) << ", " << workers << " workers, " << ps << " ps");
        JobSpec spec = micro_batch_job(workers, ps);
        if (wire == Wire::onebit) spec = with_onebit(spec);
        spec.training.wire = wire_by_word(wire);
        Job job(spec);
        run(job);
        if (expected.empty()) expected = job.final_weights();
        CHECK(job.final_weights() == expected);
      }
    }
  }
}

TEST_CASE("a job of one bit whose task was killed resumes to the bytes of one that was not",
          "[job][wire]") {
  const JobSpec spec = with_onebit(long_job());
  Job undisturbed(spec);
  run(undisturbed);
  const auto expected = final_shards(undisturbed);

  for (const char* const victim : {"worker/1", "ps/1"}) {
    INFO("killed " << victim);
    Job killed(spec);
    killed.start();
    REQUIRE_FALSE(killed.task("worker/0").wait_for_line("checkpoint committed").empty());
    killed.task(victim).signal(SIGKILL);
    CHECK(killed.task("worker/0").wait() == 1);
    for (const char* const ps : {"ps/0", "ps/1"}) killed.task(ps).signal(SIGTERM);
    CHECK_FALSE(test::all_completed(killed.wait_all()));

    const auto checkpoint = killed.newest_checkpoint();
    REQUIRE(checkpoint);
    REQUIRE(checkpoint->step < test::long_job_steps);
    Job resumed(spec, checkpoint);
    run(resumed);
    CHECK(final_shards(resumed) == expected);
    CHECK_FALSE(said(resumed, "ps/0", zero_residuals));
  }
}

TEST_CASE("a job of one bit that goes on from its last step saves the same again", "[job][wire]") {
  for (const std::int64_t ps : {0, 2}) {
    INFO(ps << " ps");
    const JobSpec spec = with_onebit(micro_batch_job(2, ps));
    Job first(spec);
    run(first);
    Job again(spec, first.newest_checkpoint());
    run(again);
    CHECK(final_shards(again) == final_shards(first));
  }
}

TEST_CASE("residuals go on on other ps and workers, where the micro-batches are the same",
          "[job][wire]") {
  const JobSpec spec = with_onebit(micro_batch_job(2, 1));
  Job whole(spec);
  run(whole);

  JobSpec half = with_onebit(micro_batch_job(2, 2));
  half.training.max_steps = 30;
  Job first(half);
  run(first);
  Job rest(with_onebit(micro_batch_job(3, 3)), first.newest_checkpoint());
  run(rest);
  CHECK(rest.final_weights() == whole.final_weights());
  Job reduced(with_onebit(micro_batch_job(4, 0)), first.newest_checkpoint());
  run(reduced);
  CHECK(reduced.final_weights() == whole.final_weights());

  JobSpec others = with_onebit(micro_batch_job(2, 2));
  others.training.micro_batch_size = 8;
  Job other_leaves(others, first.newest_checkpoint());
  run(other_leaves);
  CHECK(said(other_leaves, "ps/0", zero_residuals));
  CHECK(said(other_leaves, "ps/1", zero_residuals));
}

TEST_CASE("a checkpoint at every step of a job of one bit", "[job][wire]") {
  JobSpec spec = with_onebit(small_job());
  spec.training.max_steps = 8;
  spec.checkpoint.every_steps = 1;
  Job job(spec);
  run(job);
  std::vector<std::int64_t> steps;
  for (const auto& each : all_of<ManifestEvent>(job, "worker/0")) steps.push_back(each.step);
  CHECK(steps == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("a lossy wire's bytes are among the metrics: half, and a twenty-fifth of the pushes",
          "[job][wire]") {
  const auto trained = [](Wire wire) {
    JobSpec spec = small_job();
    spec.training.wire = wire_by_word(wire);
    auto job = std::make_unique<Job>(spec);
    run(*job);
    return job;
  };
  const auto whole = trained(Wire::float32);
  const auto halves = trained(Wire::bfloat16);
  const auto bits = trained(Wire::onebit);
  const double sent = value_of(*whole, "wire_bytes_sent_per_step");
  CHECK(sent > 4 * 16 * 64);
  CHECK(value_of(*whole, "wire_bytes_received_per_step") == sent);
  CHECK(value_of(*halves, "wire_bytes_sent_per_step") == sent / 2);
  // The last parameters of all come whole, so that what is tested is what is saved.
  const auto first = all_of<MetricEvent>(*halves, "worker/0").front();
  CHECK(first.values.at("wire_bytes_received_per_step") == sent / 2);
  CHECK(value_of(*halves, "wire_bytes_received_per_step") > sent / 2);
  CHECK(value_of(*bits, "wire_bytes_received_per_step") == sent);
  const auto metrics = all_of<MetricEvent>(*bits, "worker/0");
  CHECK(metrics.front().values.at("wire_bytes_sent_per_step") * 25 < sent);  // no checkpoint yet

  CHECK(all_of<PhaseEvent>(*halves, "worker/0")[1].detail == "ps/0 by shared memory, in bfloat16");
  // All learn: none is far from the others.
  for (const auto* job : {&halves, &bits}) {
    CHECK(value_of(**job, "test_accuracy") > value_of(*whole, "test_accuracy") - 0.1);
  }
}

TEST_CASE("an async job of one bit saves, and resumes with the residuals of the cut",
          "[job][wire]") {
  JobSpec spec = with_onebit(small_job());
  spec.mode = Mode::async;
  spec.ps.replicas = 2;
  spec.training.max_steps = 2000;
  spec.checkpoint.every_steps = 100;
  Job killed(spec);
  killed.start();
  REQUIRE_FALSE(killed.task("worker/0").wait_for_line("checkpoint committed").empty());
  for (const char* const task : {"worker/0", "worker/1", "ps/0", "ps/1"}) {
    killed.task(task).signal(SIGTERM);
  }
  killed.wait_all();
  Job resumed(spec, killed.newest_checkpoint());
  run(resumed);
  CHECK(last_of<MetricEvent>(resumed, "worker/0").step == 2000);
  CHECK_FALSE(said(resumed, "ps/0", zero_residuals));
}

TEST_CASE("a gradient that is no number ends a job, though its loss is one", "[job][wire]") {
  const TempFolder folder;
  std::string rows = "x,y\n";
  for (int i = 0; i < 40; ++i) rows += "1e25,1e15\n";  // the loss is 1e30, the gradient -2e40
  write_content(folder.path("data.csv"), rows);
  JobSpec spec = small_job();
  spec.model = models::zoo("linear_regression");
  spec.dataset = {.name = "steep",
                  .format = "csv",
                  .path = folder.path("data.csv"),
                  .label_column = "",
                  .test_fraction = 0.2};
  spec.worker.replicas = 1;
  for (const Wire wire : {Wire::bfloat16, Wire::onebit}) {
    spec.training.wire = wire_by_word(wire);
    Job job(spec);
    job.start();
    CHECK(job.task("worker/0").wait() == 1);
    job.task("ps/0").signal(SIGTERM);
    job.wait_all();
    const auto failure = last_of<FailureEvent>(job, "worker/0");
    CHECK(failure.reason == "NAN_LOSS");
    // A sign would hide it; what is rounded shows in the next loss.
    const std::string why = wire == Wire::onebit ? "the gradient of step 1 is not a finite number"
                                                 : "the loss of step 2 is not a finite number";
    CHECK(failure.message.find(why) != std::string::npos);
  }
}

}  // namespace trainyard::runtime
