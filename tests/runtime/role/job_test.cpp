// Whole jobs by hand: real processes, killed and resumed, to the same bytes.
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>

#include "tests/environment.h"
#include "tests/runtime/role/job_runs.h"
#include "tests/support/models.h"
#include "tests/support/program_path.h"

namespace trainyard::runtime {
namespace {

using test::Job, test::small_job, test::micro_batch_job, test::long_job, test::run, test::Codes,
    test::all_completed, test::all_of, test::last_of, test::final_shards;

}  // namespace

TEST_CASE("a job by hand trains, reports, saves, and every task exits with 0", "[job][threads]") {
  Job job(small_job());
  run(job);

  const auto phases = all_of<PhaseEvent>(job, "worker/0");
  REQUIRE(phases.size() == 3);
  CHECK(phases[1].detail == "ps/0 by shared memory");
  CHECK(phases.back().phase == PhaseEvent::Phase::finishing);

  const auto metrics = all_of<MetricEvent>(job, "worker/0");
  REQUIRE(metrics.size() >= 2);  // 6 that are due, of which some may be too soon for a report
  REQUIRE(metrics.size() <= 6);
  CHECK(metrics.front().step == 10);
  CHECK(metrics.back().step == 60);
  CHECK(metrics.back().max_steps == 60);
  for (const char* name : {"loss", "accuracy", "examples_per_second", "steps_per_second",
                           "learning_rate", "test_loss", "test_accuracy"}) {
    CHECK(metrics.back().values.contains(name));
  }
  CHECK(metrics.back().values.at("loss") < metrics.front().values.at("loss"));
  CHECK(all_of<MetricEvent>(job, "worker/1").empty());

  const auto manifests = all_of<ManifestEvent>(job, "worker/0");
  REQUIRE(manifests.size() == 3);
  CHECK(manifests[0].step == 20);
  CHECK(manifests[1].step == 40);
  CHECK(manifests[2].step == 60);
  CHECK(manifests[2].final_one);
  const auto shards = all_of<ShardEvent>(job, "ps/0");
  REQUIRE(shards.size() == 3);
  CHECK(shards[2].file == manifests[2].shards.at(0));
}

TEST_CASE("two sync runs of one spec end with the same sha256", "[job]") {
  Job one(small_job());
  Job two(small_job());
  run(one);
  run(two);
  CHECK(final_shards(one) == final_shards(two));
}

TEST_CASE("strategy local is one ps and one worker without the network", "[job]") {
  JobSpec spec = small_job();
  spec.worker.replicas = 1;
  Job remote(spec);
  spec.ps.replicas = 0;
  spec.training.strategy = Strategy::local;
  Job local(spec);
  run(remote);
  run(local);
  CHECK(final_shards(local) == final_shards(remote));
}

TEST_CASE("the number of ps changes no bit of the model", "[job]") {
  JobSpec spec = small_job();
  Job one(spec);
  spec.ps.replicas = 3;
  Job three(spec);
  run(one);
  run(three);
  CHECK(one.final_weights() == three.final_weights());
}

TEST_CASE("a transport that is none ends a worker with an error that names the variable", "[job]") {
  const EnvironmentVariable wrong("TRAINYARD_TRANSPORT", "infiniband");
  Job job(small_job());
  job.start();
  CHECK(job.task("worker/0").wait() == 1);
  CHECK_THAT(last_of<FailureEvent>(job, "worker/0").message,
             Catch::Contains("TRAINYARD_TRANSPORT: \"infiniband\" is none of"));
  job.task("ps/0").signal(SIGTERM);
  static_cast<void>(job.wait_all());
}

TEST_CASE("an all-reduce saves shares that restore onto ps, and the other way round",
          "[job][threads]") {
  Job whole(micro_batch_job(2, 1));
  run(whole);

  JobSpec half = micro_batch_job(3, 0);
  half.training.max_steps = 30;
  Job first(half);
  run(first);
  Job rest(micro_batch_job(2, 2), first.newest_checkpoint());
  run(rest);
  CHECK(rest.final_weights() == whole.final_weights());

  half = micro_batch_job(2, 2);
  half.training.max_steps = 30;
  Job before(half);
  run(before);
  Job after(micro_batch_job(3, 0), before.newest_checkpoint());
  run(after);
  CHECK(after.final_weights() == whole.final_weights());
}

TEST_CASE("a chief of its own is rank 0", "[job]") {
  JobSpec spec = small_job();
  Job without(spec);
  spec.worker.replicas = 1;
  spec.chief = spec.worker;
  Job with(spec);
  run(without);
  run(with);
  CHECK(with.final_weights() == without.final_weights());
}

TEST_CASE("a job whose task was killed resumes to the bytes of one that was not", "[job]") {
  Job undisturbed(long_job());
  run(undisturbed);
  const auto expected = final_shards(undisturbed);

  for (const char* const victim : {"worker/1", "ps/1", "worker/0"}) {
    INFO("killed " << victim);
    Job killed(long_job());
    killed.start();
    REQUIRE_FALSE(killed.task("worker/0").wait_for_line("checkpoint committed").empty());
    killed.task(victim).signal(SIGKILL);
    // The others notice; those that would wait for somebody to come back are stopped, as an agent
    // does.
    if (std::string(victim) != "worker/0") CHECK(killed.task("worker/0").wait() == 1);
    for (const char* const ps : {"ps/0", "ps/1"}) killed.task(ps).signal(SIGTERM);
    CHECK_FALSE(all_completed(killed.wait_all()));

    const auto checkpoint = killed.newest_checkpoint();
    REQUIRE(checkpoint);
    REQUIRE(checkpoint->step < test::long_job_steps);
    Job resumed(long_job(), checkpoint);
    run(resumed);
    CHECK(final_shards(resumed) == expected);
    CHECK(all_of<MetricEvent>(resumed, "worker/0").front().step > checkpoint->step);
  }
}

TEST_CASE("a checkpoint resumes on another number of ps to the same model", "[job]") {
  JobSpec spec = small_job();
  Job whole(spec);
  run(whole);

  JobSpec first_half = spec;
  first_half.training.max_steps = 30;
  first_half.ps.replicas = 2;
  Job half(first_half);
  run(half);
  spec.ps.replicas = 3;
  Job rest(spec, half.newest_checkpoint());
  run(rest);
  CHECK(rest.final_weights() == whole.final_weights());
}

TEST_CASE("a job that is restored at its last step only says so again", "[job]") {
  Job whole(small_job());
  run(whole);
  Job again(small_job(), whole.newest_checkpoint());
  run(again);
  CHECK(final_shards(again) == final_shards(whole));
}

TEST_CASE("an async job applies exactly its steps, and resumes from a checkpoint",
          "[job][threads]") {
  JobSpec spec = small_job();
  spec.mode = Mode::async;
  spec.ps.replicas = 2;
  spec.worker.replicas = 3;
  spec.training.max_steps = 90;
  Job job(spec);
  run(job);
  const auto metrics = all_of<MetricEvent>(job, "worker/0");
  CHECK(metrics.back().step == 90);
  for (const MetricEvent& metric : metrics) CHECK(metric.values.contains("staleness"));
  test::check_ledger(job);

  // Whoever comes when all steps are made has none to do: even who has never made one.
  spec.worker.replicas = 4;
  Job late(spec, job.newest_checkpoint());
  run(late);
  CHECK(late.final_weights() == job.final_weights());

  spec.training.max_steps = 2000;
  Job more(spec, job.newest_checkpoint());
  run(more);
  CHECK(last_of<MetricEvent>(more, "worker/0").step == 2000);
  test::check_ledger(more);
  CHECK(all_of<ManifestEvent>(more, "worker/0").size() > 1);  // while it trained, too
}

TEST_CASE("ten reports a second at most, and none of the newest or the last step is lost",
          "[job][mend-B15]") {
  JobSpec spec = small_job();
  spec.training.max_steps = 3000;
  spec.training.report_every_steps = 1;
  spec.training.evaluate_every_steps = 1'000'000;  // never before the end
  spec.checkpoint.every_steps = 0;                 // of each its own step is told
  Job job(spec);
  run(job);

  std::vector<WallTime> times;
  std::int64_t step = 0;
  for (const RunEvent& event : job.events("worker/0")) {
    const auto* const metric = std::get_if<MetricEvent>(&event.what);
    if (metric == nullptr) continue;
    CHECK(metric->step > step);
    step = metric->step;
    times.push_back(event.time);
  }
  CHECK(step == 3000);
  REQUIRE(times.size() >= 2);
  for (std::size_t at = 1; at + 1 < times.size(); ++at) {  // the last one waits for nothing
    CHECK(times[at].unix_millis - times[at - 1].unix_millis >= 95);
  }
}

TEST_CASE("async whose staleness is bound by 0 is sync to the byte, and by 2 reaches its steps",
          "[job]") {
  JobSpec spec = small_job();
  spec.ps.replicas = 2;
  Job sync(spec);
  run(sync);
  spec.mode = Mode::async;
  spec.training.max_staleness = 0;
  Job bound_by_zero(spec);
  run(bound_by_zero);
  CHECK(bound_by_zero.final_weights() == sync.final_weights());

  spec.worker.replicas = 3;
  spec.training.max_staleness = 2;
  Job bound_by_two(spec);
  run(bound_by_two);
  const auto metrics = all_of<MetricEvent>(bound_by_two, "worker/0");
  CHECK(metrics.back().step == 60);
  // Between its pull and its push each of the two others makes at most 2 * 2 + 1 steps.
  for (const MetricEvent& metric : metrics) CHECK(metric.values.at("staleness") <= 10);
}

TEST_CASE("old checkpoints are deleted as the spec says, on the chief and on the ps", "[job]") {
  JobSpec spec = small_job();
  spec.training.max_steps = 200;
  spec.checkpoint.keep_latest = 2;
  spec.checkpoint.keep_best = 0;
  Job job(spec);
  run(job);
  const auto exists = [&job](const char* task, const char* step) {
    return std::filesystem::exists(job.folder(task) + "/" + step);
  };
  CHECK(exists("worker/0", "step-200"));
  CHECK(exists("worker/0", "step-180"));
  CHECK_FALSE(exists("worker/0", "step-160"));
  CHECK(exists("ps/0", "step-200"));
  CHECK(exists("ps/0", "step-180"));
  CHECK_FALSE(exists("ps/0", "step-140"));
}

TEST_CASE("a missing data file ends the task with a reason that names it", "[job]") {
  JobSpec spec = small_job();
  spec.ps.replicas = 0;
  spec.worker.replicas = 1;
  spec.training.strategy = Strategy::local;
  spec.dataset = {.name = "mnist", .format = "idx", .path = "/no/such/folder", .label_column = ""};
  Job job(spec);
  job.start();
  CHECK(job.wait_all() == Codes{{"worker/0", 1}});
  const auto failures = all_of<FailureEvent>(job, "worker/0");
  REQUIRE(failures.size() == 1);
  CHECK(failures[0].reason == "BAD_DATA");
  CHECK(failures[0].message.find("/no/such/folder") != std::string::npos);
}

TEST_CASE("a checkpoint that does not fit the job ends the task that would restore it", "[job]") {
  JobSpec spec = small_job();
  spec.ps.replicas = 0;
  spec.worker.replicas = 1;
  spec.training.strategy = Strategy::local;
  Job first(spec);
  first.start();
  CHECK(first.wait_all() == Codes{{"worker/0", 0}});

  JobSpec wider = spec;
  models::set_argument(wider.model, "hidden", models::widths({17}));
  JobSpec other = spec;
  other.training.optimizer.name = OptimizerName::adagrad;
  JobSpec other_served = other;
  other_served.training.strategy = Strategy::all_reduce;
  JobSpec shorter = spec;
  shorter.training.max_steps = *spec.training.max_steps - 1;
  for (const auto& [next, why] : {std::pair{wider, "is of another"},
                                  {other, "is of another"},
                                  {other_served, "is of another"},
                                  {shorter, "more than this training has"}}) {
    Job job(next, first.newest_checkpoint());
    job.start();
    CHECK(job.wait_all() == Codes{{"worker/0", 1}});
    const auto failure = last_of<FailureEvent>(job, "worker/0");
    CHECK(failure.reason == "CHECKPOINT_MISMATCH");
    CHECK(failure.message.find(why) != std::string::npos);
  }
}

TEST_CASE("a loss that is no number ends the job before it is saved", "[job]") {
  JobSpec spec = small_job();
  spec.ps.replicas = 0;
  spec.worker.replicas = 1;
  spec.training.strategy = Strategy::local;
  models::set_argument(spec.model, "activation", "relu");
  spec.training.optimizer = {};
  spec.training.optimizer.learning_rate = 1000;
  spec.training.optimizer.weight_decay = 1;  // weights grow by a factor of -999 with each step
  Job job(spec);
  job.start();
  CHECK(job.wait_all() == Codes{{"worker/0", 1}});
  const auto failure = last_of<FailureEvent>(job, "worker/0");
  CHECK(failure.reason == "NAN_LOSS");
  CHECK_THAT(failure.message, Catch::Contains("is not a finite number: ") &&
                                  Catch::Contains("dense_") &&
                                  Catch::Contains("the learning rate is 1000"));
  CHECK(all_of<ManifestEvent>(job, "worker/0").empty());
}

TEST_CASE("SIGTERM ends tasks in good order", "[job][threads]") {
  JobSpec spec = long_job();
  spec.training.max_steps = std::numeric_limits<std::int32_t>::max();
  Job job(spec);
  job.start();
  REQUIRE_FALSE(job.task("worker/0").wait_for_line("checkpoint committed").empty());
  for (const char* const task : {"worker/0", "worker/1", "ps/0", "ps/1"}) {
    job.task(task).signal(SIGTERM);
  }
  const Codes codes = job.wait_all();
  CHECK(codes.at("ps/0") == 143);
  CHECK(codes.at("ps/1") == 143);
  CHECK(codes.at("worker/0") == 143);
}

TEST_CASE("a model that no memory holds ends its task with that reason", "[job][mend-A3]") {
  if (is_sanitized) return;  // a sanitizer needs all addresses for itself
  JobSpec spec = small_job();
  spec.ps.replicas = 0;
  spec.worker.replicas = 1;
  spec.training.strategy = Strategy::local;
  models::set_argument(spec.model, "hidden", models::widths({32'768, 32'768}));  // 4 GiB of weights
  Job job(spec);

  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit tight{.rlim_cur = rlim_t{3} << 30, .rlim_max = before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &tight) == 0);  // for the task, which takes it over
  job.start();
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);

  CHECK(job.wait_all() == Codes{{"worker/0", 1}});
  const auto failure = last_of<FailureEvent>(job, "worker/0");
  CHECK(failure.reason == "OOM_KILLED");
}

TEST_CASE("a task.json that is none is exit code 2, with a reason", "[job]") {
  const TempFolder folder;
  const std::string path = folder.path("task.json");
  write_content(path, "{\"role\": 5}");
  test::Child bad(program_path("trainyard-runtime"), path);
  CHECK(bad.wait() == 2);
  CHECK(bad.output().find("bad task.json") != std::string::npos);
  test::Child missing(program_path("trainyard-runtime"), folder.path("none.json"));
  CHECK(missing.wait() == 2);
  test::Child endless(program_path("trainyard-runtime"), "/dev/zero");
  CHECK(endless.wait() == 2);
  CHECK(endless.output().find("larger than 16 MiB") != std::string::npos);
}

}  // namespace trainyard::runtime
