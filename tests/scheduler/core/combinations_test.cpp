// What happens when two rare things come together: limits and suspension, restarts of the server,
// retention, failures of earlier attempts.
#include <catch2/catch.hpp>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

const char* const all_tasks[] = {"worker/0", "worker/1", "ps/0"};

Yard running_job(const JobSpec& spec) {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  REQUIRE(yard.job("j").state == JobState::running);
  return yard;
}

void end_all(Yard& yard, ExitStatus exit) {
  for (const char* task : all_tasks) {
    if (!is_terminal(yard.task("j", task).state)) yard.end("a", task, exit);
  }
}

// Passes time with the agent in touch.
void live(Yard& yard, std::int64_t how_long) {
  for (std::int64_t i = 0; i < how_long; ++i) {
    yard.pass(seconds(1));
    yard.speak("a");
  }
}

ManifestEvent manifest(std::int64_t step, const std::string& name) {
  return {step, {"m", 1, "m" + name}, {{"s", 1, "s" + name}}, {}, false};
}

void commit(Yard& yard, std::int64_t step, const std::string& name) {
  yard.tell("a", "worker/0", manifest(step, name));
  for (const char* file : {"m", "s"}) yard.step(ArtifactStored{JobId{"j"}, file + name});
}

// Fails and is placed again: the wait before that.
std::int64_t seconds_until_next_attempt(Yard& yard) {
  const std::int64_t attempt = yard.job("j").attempt;
  end_all(yard, {1, {}});
  std::int64_t waited = 0;
  while (yard.job("j").attempt == attempt && waited < 1000) {
    live(yard, 1);
    ++waited;
  }
  yard.obey("a");
  REQUIRE(yard.job("j").state == JobState::running);
  return waited;
}

}  // namespace

TEST_CASE("a suspended job does not run out of its time, nor after a restart of the server",
          "[scheduler][mend-C]") {
  JobSpec spec = a_spec();
  spec.run_policy.max_run_seconds = 5;
  spec.run_policy.save_seconds = GENERATE(0, 120);
  Yard yard = running_job(spec);
  REQUIRE(yard.act("j", JobAction::suspend));
  if (GENERATE(false, true)) yard.restart();
  yard.speak("a");
  live(yard, 10);
  CHECK(yard.job("j").goal == JobState::suspended);
  end_all(yard, {{}, 15});
  CHECK(yard.job("j").state == JobState::suspended);
  if (GENERATE(false, true)) yard.restart();
  yard.speak("a");
  live(yard, 10);
  CHECK(yard.job("j").state == JobState::suspended);

  REQUIRE(yard.act("j", JobAction::resume));
  yard.obey("a");
  live(yard, 4);
  CHECK(yard.job("j").state == JobState::running);  // its time begins anew
  live(yard, 1);
  CHECK(yard.job("j").reason == Reason::run_timeout);
}

TEST_CASE("a job that is resumed before it slept has the time that it had", "[scheduler][mend-C]") {
  JobSpec spec = a_spec();
  spec.run_policy.max_run_seconds = 9;
  spec.run_policy.save_seconds = 0;
  Yard yard = running_job(spec);
  live(yard, 4);
  REQUIRE(yard.act("j", JobAction::suspend));
  REQUIRE(yard.act("j", JobAction::resume));
  end_all(yard, {{}, 15});
  CHECK(yard.job("j").restarts == Restarts{});  // it is the user's wish
  yard.obey("a");
  REQUIRE(yard.job("j").state == JobState::running);
  if (GENERATE(false, true)) yard.restart();
  yard.speak("a");
  live(yard, 4);
  CHECK(yard.job("j").state == JobState::running);
  live(yard, 1);
  CHECK(yard.job("j").reason == Reason::run_timeout);
}

TEST_CASE("a clock that was set back gives nobody more than the whole limit",
          "[scheduler][mend-C]") {
  JobSpec spec = a_spec();
  spec.run_policy.max_run_seconds = 5;
  Yard yard = running_job(spec);
  yard.now.wall = yard.now.wall + Millis{-3'600'000};
  yard.restart();
  yard.speak("a");
  live(yard, 4);
  CHECK(yard.job("j").state == JobState::running);
  live(yard, 1);
  CHECK(yard.job("j").reason == Reason::run_timeout);
}

TEST_CASE("who resumes from a step that is committed again gets the newer files",
          "[scheduler][mend-C]") {
  Yard yard = running_job(a_spec());
  commit(yard, 10, "old");
  yard.join("b");
  yard.report_of("b").host.labels = {{"for", "heirs"}};
  yard.report_of("b").epoch += 1;
  yard.speak("b");
  yard.step(SetCordon{AgentId{"b"}, true});
  JobSpec heir = a_spec();
  heir.checkpoint.resume_from = "j/10";
  heir.scheduling.host_labels = {{"for", "heirs"}};
  REQUIRE(yard.submit("k", heir));
  REQUIRE(yard.job("k").state == JobState::queued);

  CHECK(seconds_until_next_attempt(yard) == 1);
  commit(yard, 10, "new");
  CHECK(yard.checkpoint_rows.at({10, 1}).state == CheckpointState::deleted);
  yard.speak("b");
  yard.step(SetCordon{AgentId{"b"}, false});
  REQUIRE(yard.job("k").state == JobState::starting);
  const auto& tasks = yard.wanted.at(AgentId{"b"}).tasks;
  REQUIRE_FALSE(tasks.empty());
  REQUIRE(tasks.front().restore);
  CHECK(tasks.front().restore->attempt == 2);
  CHECK(tasks.front().restore->manifest.sha256 == "mnew");
}

TEST_CASE("what a gang that starts may still fetch is not given up", "[scheduler][mend-C]") {
  JobSpec spec = a_spec();
  spec.checkpoint.keep_latest = 1;
  spec.checkpoint.keep_best = 0;
  Yard yard = running_job(spec);
  commit(yard, 10, "10");
  end_all(yard, {1, {}});
  live(yard, 1);
  REQUIRE(yard.job("j").state == JobState::starting);
  const Assignment placed = yard.wanted.at(AgentId{"a"});
  for (const WantedTask& wanted : placed.tasks) {
    TaskReport report;
    report.key = wanted.task.key;
    report.token = wanted.token;
    const bool is_chief = task_name(report.key) == "worker/0";
    report.state = is_chief ? TaskState::running : TaskState::starting;
    report.pid = 7;
    auto& tasks = yard.report_of("a").tasks;
    std::erase_if(tasks, [&](const TaskReport& one) { return one.key.attempt == 1; });
    tasks.push_back(report);
  }
  yard.report_of("a").generation = placed.generation;
  commit(yard, 20, "20");
  REQUIRE(yard.job("j").state == JobState::starting);
  CHECK(yard.checkpoints.at(20).state == CheckpointState::committed);
  CHECK(yard.checkpoints.at(10).state == CheckpointState::committed);
  yard.shown("a", "worker/1").state = TaskState::running;
  yard.shown("a", "ps/0").state = TaskState::running;
  yard.speak("a");
  commit(yard, 30, "30");
  CHECK(yard.checkpoints.at(10).state == CheckpointState::deleted);
  CHECK(yard.checkpoints.at(20).state == CheckpointState::deleted);
}

TEST_CASE("a job that may start with fewer workers is in no line with one that may not",
          "[scheduler][mend-C]") {
  Yard yard;
  yard.join("a", {4, 16'000, 0});
  JobSpec whole = a_spec();
  whole.mode = Mode::async;
  whole.worker.replicas = 8;
  JobSpec fewer = whole;
  fewer.worker.min_replicas = 2;
  REQUIRE(yard.submit("first", fewer));  // the agents are known to hold it
  REQUIRE(yard.act("first", JobAction::cancel));
  yard.obey("a");
  yard.join("b", {9, 16'000, 0});
  REQUIRE(yard.submit("whole", whole));
  yard.obey("b");
  REQUIRE(yard.submit("whole_too", whole));
  REQUIRE(yard.job("whole_too").state == JobState::queued);
  REQUIRE(yard.submit("fewer", fewer));
  yard.step(SetCordon{AgentId{"b"}, true});  // nobody could hold whole_too now: its line is parked
  yard.step(SetCordon{AgentId{"a"}, true});
  yard.step(SetCordon{AgentId{"a"}, false});
  CHECK(yard.job("whole_too").state == JobState::queued);
  CHECK(yard.job("fewer").state == JobState::starting);
}

TEST_CASE("a step that is reported again is no progress", "[scheduler][mend-C]") {
  JobSpec spec = a_spec();
  spec.run_policy.no_progress_timeout_seconds = 5;
  Yard yard = running_job(spec);
  yard.tell("a", "worker/0", MetricEvent{10, 100, {{"loss", 1.0}}});
  live(yard, 4);
  yard.tell("a", "worker/0", MetricEvent{10, 100, {{"loss", 1.0}}});
  live(yard, 1);
  CHECK(yard.job("j").reason == Reason::no_progress);
}

TEST_CASE("the failure of an earlier attempt explains nothing of this one", "[scheduler][mend-C]") {
  JobSpec spec = a_spec();
  spec.run_policy.no_progress_timeout_seconds = 5;
  Yard yard = running_job(spec);
  yard.tell("a", "ps/0", FailureEvent{"PEER_LOST", "worker/1 is gone"});
  yard.end("a", "ps/0", {1, {}});
  CHECK(seconds_until_next_attempt(yard) == 1);
  REQUIRE(yard.job("j").first_failure->reason == Reason::peer_lost);
  live(yard, 5);
  REQUIRE(yard.job("j").reason == Reason::no_progress);

  // A task that cannot go on where it is stopped.
  yard.tell("a", "worker/1", FailureEvent{"BAD_DATA", "train.csv: line 3 has 4 columns"});
  yard.shown("a", "worker/1").state = TaskState::failed;
  yard.shown("a", "worker/1").exit = {1, {}};
  yard.speak("a");
  CHECK(yard.job("j").first_failure->attempt == 1);
  CHECK(yard.job("j").goal == JobState::queued);
  CHECK(yard.job("j").reason == Reason::no_progress);
}

TEST_CASE("the wait before an attempt grows with attempts in vain alone", "[scheduler][mend-B7]") {
  JobSpec spec = a_spec();
  spec.run_policy.max_restarts = 20;
  Yard yard = running_job(spec);
  CHECK(seconds_until_next_attempt(yard) == 1);
  CHECK(seconds_until_next_attempt(yard) == 2);
  CHECK(seconds_until_next_attempt(yard) == 4);
  SECTION("a checkpoint is progress") { commit(yard, 10, "10"); }
  SECTION("ten minutes are") { live(yard, 600); }
  SECTION("also where the server restarted meanwhile") {
    commit(yard, 10, "10");
    yard.restart();
    yard.speak("a");
  }
  CHECK(seconds_until_next_attempt(yard) == 1);
  CHECK(seconds_until_next_attempt(yard) == 2);
  CHECK(yard.job("j").restarts.user == 5);  // which still count against max_restarts
}

TEST_CASE("a job that backs off waits for what is left of it when the server restarts",
          "[scheduler]") {
  JobSpec spec = a_spec();
  spec.run_policy.backoff = {10, 2.0, 60};
  Yard yard = running_job(spec);
  end_all(yard, {1, {}});
  live(yard, 4);
  SECTION("as the wall clock says") {
    yard.restart();
    yard.speak("a");
    live(yard, 5);
    CHECK(yard.job("j").reason == Reason::backing_off);
    live(yard, 1);
    CHECK(yard.job("j").state == JobState::starting);
  }
  SECTION("and never longer than the longest wait, should that be set back") {
    yard.now.wall = yard.now.wall + Millis{-3'600'000};
    yard.restart();
    yard.speak("a");
    live(yard, 59);
    CHECK(yard.job("j").reason == Reason::backing_off);
    live(yard, 1);
    CHECK(yard.job("j").state == JobState::starting);
  }
}

TEST_CASE("less than ten minutes without a checkpoint are in vain", "[scheduler][mend-B7]") {
  Yard yard = running_job(a_spec());
  CHECK(seconds_until_next_attempt(yard) == 1);
  live(yard, 590);
  CHECK(seconds_until_next_attempt(yard) == 2);
}

}  // namespace trainyard::scheduler
