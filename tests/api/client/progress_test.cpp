// A job's progress in words, from the server's JSON to the line on the screen.
#include "api/client/progress.h"

#include <catch2/catch.hpp>

#include "api/client/columns.h"

namespace trainyard::client {
namespace {

nlohmann::json a_running_job() {
  return nlohmann::json::parse(R"({
    "id": "j1", "version": 7, "spec": {"name": "digits"},
    "status": {"state": "running", "reason": "GANG_RUNNING", "attempt": 1, "step": 920,
      "max_steps": 2000, "progress": 0.46, "eta_seconds": 4.1, "loss": 0.2143,
      "metrics": {"accuracy": 0.9391, "note": "text"}, "examples_per_second": 61200.4,
      "created_at": "2026-11-20T19:00:00.000Z", "started_at": "2026-11-20T19:00:01Z",
      "finished_at": null, "first_failure": null, "latest_checkpoint": 500}})");
}

JobView view_of(const nlohmann::json& job) { return parse_job(job).value(); }

}  // namespace

TEST_CASE("a running job's line has bar, loss, speed, time to go, accuracy and step", "[client]") {
  CHECK(progress_line(view_of(a_running_job()), 200) ==
        "digits  ━━━━━━━━━━━─────────────  46%  loss 0.2143  61,200 examples/s  ETA 4.1s  "
        "batch accuracy 0.9391  step 920/2,000");
}

TEST_CASE("a line never takes more columns than there are", "[client]") {
  const JobView job = view_of(a_running_job());
  for (std::size_t columns = 25; columns < 150; ++columns) {
    CHECK(width_of(progress_line(job, columns)) <= columns);
  }
  CHECK(progress_line(job, 80) ==
        "digits  ━━━━──────  46%  loss 0.2143  61,200 examples/s  ETA 4.1s");
}

TEST_CASE("no name makes a line wrap, in any state", "[client][mend-B5]") {
  nlohmann::json job = a_running_job();
  for (const char* name :
       {"x", "experiment-with-a-name-that-goes-on-and-on-and-on-until-it-is-longer-than-a-line-0.1",
        "\u8a13\u7df4\u8a13\u7df4\u8a13\u7df4\u8a13\u7df4\u8a13\u7df4\u8a13\u7df4\u8a13\u7df4",
        "\U0001F682\U0001F682\U0001F682\U0001F682\U0001F682\U0001F682\U0001F682\U0001F682"}) {
    job["spec"]["name"] = name;
    job["status"]["message"] = std::string(name) + " waits for 3 free cpus, which no host has";
    for (const char* state : {"queued", "starting", "running", "stopping"}) {
      for (const int step : {0, 920}) {
        job["status"]["state"] = state;
        job["status"]["step"] = step;
        job["status"]["attempt"] = step == 0 ? 1 : 12;
        for (std::size_t columns = 40; columns <= 200; ++columns) {
          CHECK(width_of(progress_line(view_of(job), columns)) <= columns);
        }
      }
    }
  }
  job = a_running_job();
  job["spec"]["name"] = "experiment-with-a-long-name-0.1";
  CHECK(progress_line(view_of(job), 40) == "experi…me-0.1  ━━━━──────  46%  ETA 4.1s");
}

TEST_CASE("a waiting job's line says why it waits", "[client]") {
  nlohmann::json job = a_running_job();
  job["status"]["state"] = "queued";
  job["status"]["step"] = 0;
  job["status"]["attempt"] = 2;
  job["status"]["message"] = "no host has 3 free cpus";
  CHECK(plain_line(view_of(job)) == "digits queued (attempt 2)  no host has 3 free cpus");
}

TEST_CASE("a recommender's line and last words have its recall", "[client]") {
  nlohmann::json job = a_running_job();
  job["status"]["metrics"] = {{"recall_10", 0.5}, {"test_loss", 4.5}};
  CHECK_THAT(plain_line(view_of(job)), Catch::Matchers::Contains("  batch recall 10 0.5000  "));
  job["status"]["metrics"]["test_recall_10"] = 0.25;
  CHECK_THAT(plain_line(view_of(job)), Catch::Matchers::Contains("  test recall 10 0.2500  "));
  job["status"]["state"] = "succeeded";
  CHECK_THAT(closing_words(view_of(job)),
             Catch::Matchers::Contains(": test recall 10 0.2500, test loss 4.5000, step"));
}

TEST_CASE("the closing words of success name the accuracy on the test split", "[client]") {
  nlohmann::json job = a_running_job();
  job["status"]["state"] = "succeeded";
  job["status"]["step"] = 2000;
  job["status"]["metrics"]["test_accuracy"] = 0.98125;
  job["status"]["finished_at"] = "2026-11-20T19:00:13Z";
  CHECK(closing_words(view_of(job)) ==
        "digits succeeded in 12s: test accuracy 0.9812, step 2,000/2,000");
}

TEST_CASE("the closing words of failure name the first task that failed", "[client]") {
  nlohmann::json job = a_running_job();
  job["status"]["state"] = "failed";
  job["status"]["reason"] = "BAD_DATA";
  job["status"]["message"] = "no such file";
  job["status"]["first_failure"] = {
      {"task", "worker/1"}, {"agent", "host-a"}, {"reason", "BAD_DATA"}, {"exit_code", 1}};
  CHECK(closing_words(view_of(job)) ==
        "digits failed: BAD_DATA, no such file\n"
        "  first failure: worker/1 on host-a: BAD_DATA, exit code 1");
}

TEST_CASE("a failure that the message tells is not told twice", "[client][mend-B10]") {
  nlohmann::json job = a_running_job();
  job["status"]["state"] = "failed";
  job["status"]["reason"] = "BAD_DATA";
  job["status"]["message"] = "worker/1 on host-a: BAD_DATA (exit code 1): no such file";
  job["status"]["first_failure"] = {{"task", "worker/1"},
                                    {"agent", "host-a"},
                                    {"reason", "BAD_DATA"},
                                    {"exit_code", 1},
                                    {"message", "no such file"}};
  CHECK(closing_words(view_of(job)) ==
        "digits failed: BAD_DATA, worker/1 on host-a: BAD_DATA (exit code 1): no such file");
}

TEST_CASE("what is missing or null in an answer is not there, and never a crash", "[client]") {
  const JobView job = view_of({{"id", "j1"}, {"status", {{"state", "queued"}, {"loss", nullptr}}}});
  CHECK_FALSE(job.loss);
  CHECK_FALSE(job.metric("accuracy"));
  CHECK_FALSE(job.created_at.is_set());
  CHECK(job.max_steps == 0);
  CHECK_FALSE(parse_job({{"id", "j1"}}));
  CHECK_FALSE(parse_job({{"status", {{"state", "queued"}}}}));
  CHECK_FALSE(parse_job(nlohmann::json::array()));
  CHECK_FALSE(parse_job({{"id", "j1"}, {"status", {{"state", "sleeping"}}}}));
}

TEST_CASE("a watcher goes on until a job is at rest", "[client]") {
  nlohmann::json job = a_running_job();
  for (const char* state : {"queued", "starting", "running", "stopping"}) {
    job["status"]["state"] = state;
    CHECK_FALSE(view_of(job).at_rest());
  }
  for (const char* state : {"succeeded", "failed", "cancelled", "suspended"}) {
    job["status"]["state"] = state;
    CHECK(view_of(job).at_rest());
  }
}

}  // namespace trainyard::client
