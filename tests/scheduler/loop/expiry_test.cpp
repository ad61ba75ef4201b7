// Jobs that ended long ago are removed by themselves, where that is asked for.
#include <catch2/catch.hpp>

#include "tests/scheduler/loop/yard.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

struct Expiring {
  explicit Expiring(Millis job_ttl)
      : job_ttl(job_ttl),
        scheduler(start()),
        reader(value_of(Reader::open(scheduler->database_path()))) {}

  std::unique_ptr<Scheduler> start() {
    return value_of(Scheduler::start({.state_dir = folder.path("state"),
                                      .agent_address = "127.0.0.1:0",
                                      .limits = {},
                                      .job_ttl = job_ttl}));
  }
  // With rows that it finds when it comes back.
  void restart_with(const std::vector<Change>& rows) {
    const std::string database = scheduler->database_path();
    scheduler.reset();
    {
      Store store = value_of(Store::open(database));
      save(store, rows);
    }
    scheduler = start();
  }

  JobId submit() {
    return value_of(answer_to<Submitted>(
                        [&](auto done) { scheduler->submit(a_request(), std::move(done)); }))
        .job.id;
  }
  void cancel(const JobId& job) {
    REQUIRE(answer_to<Job>(
        [&](auto done) { scheduler->act(job, JobAction::cancel, std::move(done)); }));
  }
  bool has(const JobId& job) { return reader.job(job).has_value(); }

  TempFolder folder;
  const Millis job_ttl;
  std::unique_ptr<Scheduler> scheduler;
  Reader reader;
};

}  // namespace

TEST_CASE("a job that ended longer ago than it may stay is removed, no other is",
          "[loop][mend-B15]") {
  Expiring yard(Millis{1});
  const JobId ended = yard.submit();
  const JobId queued = yard.submit();
  yard.cancel(ended);

  CHECK(eventually([&] { return !yard.has(ended); }));
  CHECK(yard.has(queued));
}

TEST_CASE("a job that ended a moment ago stays", "[loop][mend-B15]") {
  Expiring yard(seconds(3600));
  const JobId ended = yard.submit();
  yard.cancel(ended);

  Expiring gone(Millis{1});  // by the time that this one has looked, the first one has, too
  const JobId other = gone.submit();
  gone.cancel(other);
  REQUIRE(eventually([&] { return !gone.has(other); }));

  CHECK(yard.has(ended));
}

TEST_CASE("jobs that others are to resume from stay, and are in nobody's way", "[loop][mend-B15]") {
  Expiring yard(Millis{1});
  std::vector<Change> rows;
  std::uint64_t sequence = 1;
  const auto add = [&](JobState state, const std::string& more_spec) {
    Job job = a_job("j-" + std::to_string(sequence), sequence, more_spec);
    ++sequence;
    job.state = job.goal = state;
    if (is_terminal(state)) job.finished_at = {1000};
    rows.push_back(SaveJob{job});
    return job;
  };
  std::vector<Job> sources;
  for (int i = 0; i < 60; ++i) {  // more than are looked at in one go
    sources.push_back(add(JobState::succeeded, ""));
    rows.push_back(SaveCheckpoint{a_checkpoint(sources.back(), 20)});
  }
  for (const Job& source : sources) {
    add(JobState::queued, R"(, "checkpoint": {"resume_from": ")" + source.id.text + R"(/20"})");
  }
  const Job last = add(JobState::cancelled, "");

  yard.restart_with(rows);

  CHECK(eventually([&] { return !yard.has(last.id); }));
  for (const Job& source : sources) CHECK(yard.has(source.id));
}
