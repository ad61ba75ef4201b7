// What a watcher is told of a job's changes of state.
#include "api/client/changes.h"

#include <catch2/catch.hpp>

namespace trainyard::client {
namespace {

using enum JobState;

const StateChange placed{
    .to = starting, .reason = "GANG_PLACED", .message = "placed", .attempt = 1};
const StateChange all_run{.to = running, .reason = "GANG_RUNNING", .message = "all", .attempt = 1};
const std::string cause = "worker/1 on box-2: SIGNALLED (signal 9)";
const StateChange stops{.to = stopping, .reason = "SIGNALLED", .message = cause, .attempt = 1};
const StateChange waits{.to = queued, .reason = "SIGNALLED", .message = cause, .attempt = 1};
const StateChange again{.to = starting, .reason = "GANG_PLACED", .message = "placed", .attempt = 2};

JobView job_with(const std::vector<StateChange>& changes) {
  JobView job;
  job.state = changes.back().to;
  job.changes = changes;
  return job;
}

// Without the time, which is shown in the zone of the one who runs the test.
std::vector<std::string> words_of(const std::vector<std::string>& lines) {
  std::vector<std::string> words;
  for (const std::string& line : lines) words.push_back(line.substr(line.find("  ") + 2));
  return words;
}

}  // namespace

TEST_CASE("a restart is told with its reason and sentence, once", "[client][mend-B5]") {
  ChangeLines lines;
  CHECK(words_of(lines.next(job_with({placed, all_run}))) ==
        std::vector<std::string>{"starting  GANG_PLACED: placed", "running  GANG_RUNNING: all"});

  const std::vector<StateChange> restarted{placed, all_run, stops, waits, again};
  CHECK(words_of(lines.next(job_with(restarted))) ==
        std::vector<std::string>{"stopping  SIGNALLED: " + cause, "queued  SIGNALLED",
                                 "starting (attempt 2)  GANG_PLACED: placed"});
  CHECK(lines.next(job_with(restarted)).empty());
}

TEST_CASE("how a job ends is left to the closing words", "[client][mend-B5]") {
  const StateChange fails{.to = failed, .reason = "SIGNALLED", .message = cause, .attempt = 1};
  ChangeLines lines;
  CHECK(words_of(lines.next(job_with({placed, stops, fails}))) ==
        std::vector<std::string>{"starting  GANG_PLACED: placed", "stopping  SIGNALLED"});

  ChangeLines on_the_way;
  JobView stopping_job = job_with({placed, stops});
  stopping_job.goal = failed;
  CHECK(words_of(on_the_way.next(stopping_job)).back() == "stopping  SIGNALLED");
  CHECK(on_the_way.next(job_with({placed, stops, fails})).empty());
}

TEST_CASE("a long history is told from its newest part", "[client][mend-B5]") {
  std::vector<StateChange> history;
  for (std::int64_t attempt = 1; attempt <= 50; ++attempt) {
    StateChange change = again;
    change.attempt = attempt;
    history.push_back(change);
  }
  ChangeLines lines;
  const std::vector<std::string> told = lines.next(job_with(history));
  REQUIRE(told.size() == 21);
  CHECK(told.front() == "(30 earlier changes are not shown)");
  CHECK_THAT(told.back(), Catch::Contains("starting (attempt 50)"));
}

TEST_CASE("a task that computes on a CPU in the place of its GPU is told of, once in an attempt",
          "[client]") {
  ChangeLines lines;
  JobView job;
  job.attempt = 1;
  job.routes = {{"worker/0", "computes on the CPU: no driver; ps/0 by TCP"},
                {"worker/1", "computes on NVIDIA H200"}};
  const std::vector<std::string> told{"worker/0 computes on the CPU: no driver; ps/0 by TCP"};
  CHECK(lines.next(job) == told);
  CHECK(lines.next(job).empty());
  job.attempt = 2;
  CHECK(lines.next(job) == told);
}

}  // namespace trainyard::client
