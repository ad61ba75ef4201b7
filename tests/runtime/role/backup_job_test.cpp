// Whole jobs with backup workers: processes that are stopped, go on, and are killed.
#include <signal.h>

#include <catch2/catch.hpp>

#include "tests/environment.h"
#include "tests/runtime/role/job_runs.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t kLong = is_sanitized ? 600 : 4000;  // steps of a job that is disturbed

using test::Job, test::all_of, test::Codes, test::last_of, test::small_job;

JobSpec three_workers(std::int64_t ps) {
  JobSpec spec = small_job();
  spec.ps.replicas = ps;
  spec.worker.replicas = 3;
  spec.training.max_steps = 400;
  spec.training.evaluate_every_steps = 100;
  return spec;
}

double last_metric(const Job& job, const char* name) {
  return last_of<MetricEvent>(job, "worker/0").values.at(name);
}

std::int64_t number_after(const std::string& text, const std::string& key) {
  const auto at = text.find(key);
  REQUIRE(at != std::string::npos);
  return std::atoll(text.c_str() + at + key.size());
}

// Until so many more steps than the chief has reported so far are saved.
void wait_for_steps(Job& job, std::int64_t more) {
  const auto reported = all_of<MetricEvent>(job, "worker/0");
  const std::int64_t wanted = (reported.empty() ? 0 : reported.back().step) + more;
  for (std::int64_t saved = 0; saved < wanted;) {
    const std::string line = job.task("worker/0").wait_for_line("checkpoint committed");
    REQUIRE_FALSE(line.empty());
    saved = number_after(line, "\"step\":");
  }
}

}  // namespace

TEST_CASE("a job with backup workers trains, saves and restores", "[backup_job][threads]") {
  for (const std::int64_t ps : {1, 2}) {
    Job job(three_workers(ps));
    job.aggregate(2).start();
    for (const auto& [task, code] : job.wait_all()) {
      INFO(task << "\n" << job.task(task).output());
      CHECK(code == 0);
    }
    const auto metrics = all_of<MetricEvent>(job, "worker/0");
    CHECK(metrics.back().step == 400);
    // The sums of a step that is made while the chief is late may be in the report before it.
    std::vector<double> losses;
    for (const MetricEvent& metric : metrics) {
      if (metric.values.contains("loss")) losses.push_back(metric.values.at("loss"));
    }
    REQUIRE(losses.size() > 1);
    CHECK(losses.back() < losses.front());
    CHECK(metrics.back().values.contains("dropped_contributions"));
    const auto manifests = all_of<ManifestEvent>(job, "worker/0");
    REQUIRE(manifests.size() >= 2);
    CHECK(manifests.back().step == 400);
    CHECK(manifests.back().final_one);
    for (std::size_t i = 1; i < manifests.size(); ++i) {
      CHECK(manifests[i].step > manifests[i - 1].step);
    }

    JobSpec longer = three_workers(3 - ps);
    longer.training.max_steps = 450;
    Job more(longer, job.newest_checkpoint());
    more.aggregate(2).start();
    for (const auto& [task, code] : more.wait_all()) CHECK(code == 0);
    CHECK(last_of<MetricEvent>(more, "worker/0").step == 450);
  }
}

TEST_CASE("training goes on while a worker is stopped, and drops what it was at", "[backup_job]") {
  for (const std::int64_t ps : {1, 2}) {
    JobSpec spec = three_workers(ps);
    spec.training.max_steps = kLong;
    Job job(spec);
    job.aggregate(2).start();
    REQUIRE_FALSE(job.task("worker/2").wait_for_line("\"training\"").empty());
    job.task("worker/2").signal(SIGSTOP);
    wait_for_steps(job, 100);
    job.task("worker/2").signal(SIGCONT);
    for (const auto& [task, code] : job.wait_all()) {
      INFO(task << "\n" << job.task(task).output());
      CHECK(code == 0);
    }
    CHECK(last_of<MetricEvent>(job, "worker/0").step == kLong);
    CHECK(last_metric(job, "dropped_contributions") >= 1);
    CHECK(last_metric(job, "dropped_contributions_worker_2") >= 1);
    CHECK(job.task("ps/0").output().find("contributions dropped") != std::string::npos);
  }
}

TEST_CASE("training ends though a worker is stopped, which learns it when it goes on",
          "[backup_job]") {
  Job job(three_workers(2));
  job.aggregate(2).start();
  REQUIRE_FALSE(job.task("worker/1").wait_for_line("\"training\"").empty());
  job.task("worker/1").signal(SIGSTOP);
  CHECK(job.task("worker/0").wait() == 0);
  job.task("worker/1").signal(SIGCONT);
  CHECK(job.task("worker/1").wait() == 0);
  for (const char* const task : {"worker/2", "ps/0", "ps/1"}) CHECK(job.task(task).wait() == 0);
}

TEST_CASE("training goes on without a worker that is killed", "[backup_job]") {
  for (const std::int64_t ps : {1, 2}) {
    JobSpec spec = three_workers(ps);
    spec.training.max_steps = kLong;
    Job job(spec);
    job.aggregate(2).start();
    REQUIRE_FALSE(job.task("worker/1").wait_for_line("\"training\"").empty());
    REQUIRE_FALSE(job.task("worker/0").wait_for_line("checkpoint committed").empty());
    job.task("worker/1").signal(SIGKILL);
    const Codes codes = job.wait_all();
    CHECK(codes.at("worker/0") == 0);
    CHECK(codes.at("worker/1") == -SIGKILL);
    CHECK(codes.at("ps/0") == 0);
    CHECK(last_of<MetricEvent>(job, "worker/0").step == kLong);
    CHECK(last_of<ManifestEvent>(job, "worker/0").final_one);
  }
}

}  // namespace trainyard::runtime
