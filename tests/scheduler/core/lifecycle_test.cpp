// The course of one job, from submit to its end, as its agent and its user see it.
#include <catch2/catch.hpp>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

ManifestEvent final_manifest(std::int64_t step) {
  return {step,
          {"manifest", 1, "m" + std::to_string(step)},
          {{"shard", 1, "s" + std::to_string(step)}},
          {},
          true};
}

void store(Yard& yard, const std::string& job, const std::string& sha256) {
  yard.step(ArtifactStored{JobId{job}, sha256});
}

Yard running_job() {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  yard.obey("a");
  REQUIRE(yard.job("j").state == JobState::running);
  return yard;
}

}  // namespace

TEST_CASE("a job that fits is placed in the very step that submits it", "[scheduler]") {
  Yard yard;
  yard.join("a");

  REQUIRE(yard.submit("j"));

  CHECK(yard.job("j").state == JobState::starting);
  const Assignment& assignment = yard.wanted.at(AgentId{"a"});
  REQUIRE(assignment.tasks.size() == 3);
  const TaskContext& ps = assignment.tasks[0].task;
  CHECK(ps.cluster.ps == std::vector<std::string>{"a.example:20000"});
  CHECK(ps.cluster.worker == std::vector<std::string>{"a.example:20002", "a.example:20003"});
  CHECK(ps.listen == "a.example:20000");
  CHECK(ps.rows_port == 20001);
  CHECK(assignment.tasks[1].task.listen.empty());  // workers only call
  CHECK(ps.token == "gang j 1");
  CHECK(assignment.tasks[0].token == "task j/1/ps/0");
  CHECK(yard.agents.at(AgentId{"a"}).generation == assignment.generation);
}

TEST_CASE("a job runs once all of its tasks do", "[scheduler]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  yard.obey("a");
  CHECK(yard.job("j").state == JobState::running);
  CHECK(yard.job("j").started_at.is_set());
}

TEST_CASE("a task that goes on raises its job's version, with which its roles are shown",
          "[scheduler]") {
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j"));
  yard.obey("a");
  const auto before = yard.job("j").version;
  yard.end("a", "worker/1", {0, {}});
  CHECK(yard.job("j").version > before);
}

TEST_CASE("the chief's exit and its last checkpoint make a job succeed", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "worker/0", final_manifest(100));
  store(yard, "j", "m100");
  store(yard, "j", "s100");
  CHECK(yard.checkpoints.at(100).state == CheckpointState::committed);
  CHECK(yard.job("j").latest_checkpoint == 100);

  yard.end("a", "worker/0", {0, {}});
  CHECK(yard.job("j").state == JobState::stopping);
  CHECK(yard.job("j").goal == JobState::succeeded);
  yard.end("a", "worker/1", {0, {}});
  yard.end("a", "ps/0", {0, {}});

  CHECK(yard.job("j").state == JobState::succeeded);
  CHECK(yard.job("j").reason == Reason::completed);
  CHECK(yard.job("j").finished_at.is_set());
  CHECK_FALSE(yard.cluster.explain(JobId{"j"}, yard.now));
}

TEST_CASE("a job that its checkpoint left nothing to do says so at its end",
          "[scheduler][mend-B12]") {
  Yard yard;
  yard.join("a");
  Job job;
  job.id = JobId{"j"};
  job.spec = a_spec();
  job.spec.checkpoint.resume_from = "old/100";
  const Checkpoint source{JobId{"old"}, 100, 1, CheckpointState::committed, {}, {}, {}, true, {}};
  REQUIRE(yard.step(Submit{job, source}).outcome);
  yard.obey("a");

  yard.tell("a", "worker/0", final_manifest(100));
  store(yard, "j", "m100");
  store(yard, "j", "s100");
  yard.end("a", "worker/0", {0, {}});

  CHECK(yard.job("j").goal == JobState::succeeded);
  CHECK(yard.job("j").message ==
        "the chief has finished: the checkpoint of step 100 that it began from left nothing to do");
}

TEST_CASE("a chief that ends without a last checkpoint runs again", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "worker/0", final_manifest(100));
  store(yard, "j", "m100");  // its shard never comes
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {0, {}});

  CHECK(yard.job("j").state == JobState::queued);
  CHECK(yard.job("j").restarts == Restarts{0, 1});
  CHECK(yard.job("j").transitions.back().reason == Reason::checkpoint_lost);
  CHECK(yard.checkpoints.at(100).state == CheckpointState::deleted);
}

TEST_CASE("slots are free only when the agent has shown that the tasks are gone", "[scheduler]") {
  Yard yard = running_job();
  REQUIRE(yard.act("j", JobAction::cancel));
  CHECK(yard.job("j").state == JobState::stopping);
  CHECK(yard.cluster.agents(yard.now)[0].used.cpus == 3);
  yard.speak("a");  // has not heard of it
  CHECK(yard.cluster.agents(yard.now)[0].used.cpus == 3);

  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {{}, 15});

  CHECK(yard.job("j").state == JobState::cancelled);
  CHECK(yard.cluster.agents(yard.now)[0].used == Resources{});
}

TEST_CASE("a queued job that is cancelled passes through stopping", "[scheduler]") {
  Yard yard;
  REQUIRE(yard.submit("j"));
  REQUIRE(yard.act("j", JobAction::cancel));
  const auto& past = yard.job("j").transitions;
  REQUIRE(past.size() == 2);
  CHECK(past[0].to == JobState::stopping);
  CHECK(past[1].to == JobState::cancelled);
  CHECK(yard.act("j", JobAction::cancel).error().code == Code::not_found);
}

TEST_CASE("a suspended job keeps its checkpoints and goes on from them", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "worker/0", ManifestEvent{50, {"m", 1, "m"}, {{"s", 1, "s"}}, {}, false});
  store(yard, "j", "m");
  store(yard, "j", "s");
  REQUIRE(yard.act("j", JobAction::suspend));
  REQUIRE(yard.act("j", JobAction::suspend));
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {{}, 15});
  CHECK(yard.job("j").state == JobState::suspended);

  REQUIRE(yard.act("j", JobAction::resume));

  CHECK(yard.job("j").state == JobState::starting);
  CHECK(yard.job("j").attempt == 2);
  CHECK(yard.job("j").progress.step == 50);
  CHECK(yard.job("j").restarts == Restarts{});
  for (const WantedTask& task : yard.wanted.at(AgentId{"a"}).tasks) {
    if (task.task.key.role != Role::ps) continue;
    REQUIRE(task.restore);
    CHECK(task.restore->step == 50);
  }
}

TEST_CASE("what a state does not allow is a conflict", "[scheduler]") {
  Yard yard = running_job();
  CHECK(yard.submit("j").error().code == Code::conflict);
  CHECK(yard.step(DeleteJob{JobId{"j"}}).outcome.error().code == Code::conflict);
  CHECK(yard.step(DeleteJob{JobId{"j"}}).outcome.error().message ==
        "job j cannot be deleted: it is running");
  REQUIRE(yard.act("j", JobAction::cancel));
  CHECK(yard.act("j", JobAction::cancel));
  CHECK(yard.act("j", JobAction::suspend).error().code == Code::conflict);
  CHECK(yard.act("j", JobAction::resume).error().code == Code::conflict);
  CHECK(yard.act("j", JobAction::resume).error().message ==
        "job j cannot be resumed: it is stopping, on its way to cancelled");
  CHECK(yard.act("k", JobAction::cancel).error().code == Code::not_found);
  CHECK(yard.step(SetCordon{AgentId{"z"}, true}).outcome.error().code == Code::not_found);
}

TEST_CASE("a job that runs too long fails", "[scheduler]") {
  Yard yard;
  yard.join("a");
  JobSpec spec = a_spec();
  spec.run_policy.max_run_seconds = 5;
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  yard.pass(seconds(4));
  CHECK(yard.job("j").state == JobState::running);
  yard.pass(seconds(1));
  CHECK(yard.job("j").reason == Reason::run_timeout);
  CHECK(yard.job("j").goal == JobState::failed);
}

TEST_CASE("a job whose chief has finished in time succeeds, however long its last tasks take",
          "[scheduler]") {
  Yard yard;
  yard.join("a");
  JobSpec spec = a_spec();
  spec.run_policy.max_run_seconds = 5;
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  yard.tell("a", "worker/0", final_manifest(100));
  store(yard, "j", "m100");
  store(yard, "j", "s100");
  yard.pass(seconds(4));
  yard.end("a", "worker/0", {0, {}});
  yard.pass(seconds(3));
  CHECK(yard.job("j").goal == JobState::succeeded);
  yard.restart();
  yard.speak("a");
  yard.pass(seconds(3));
  for (const char* task : {"worker/1", "ps/0"}) yard.end("a", task, {0, {}});
  CHECK(yard.job("j").state == JobState::succeeded);
}

TEST_CASE("a job whose chief finished in vain has run for too long all the same", "[scheduler]") {
  Yard yard;
  yard.join("a");
  JobSpec spec = a_spec();
  spec.run_policy.max_run_seconds = 5;
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  yard.pass(seconds(4));
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {0, {}});
  REQUIRE(yard.job("j").transitions.back().reason == Reason::checkpoint_lost);
  yard.pass(seconds(2));
  CHECK(yard.job("j").reason == Reason::run_timeout);
}

TEST_CASE("a job that waits too long fails", "[scheduler]") {
  Yard yard;
  JobSpec spec = a_spec();
  spec.scheduling.max_queued_seconds = 5;
  REQUIRE(yard.submit("j", spec));
  yard.pass(seconds(4));
  CHECK(yard.job("j").state == JobState::queued);
  yard.pass(seconds(1));
  CHECK(yard.job("j").state == JobState::failed);
  CHECK(yard.job("j").reason == Reason::queue_timeout);
}

TEST_CASE("of several deadlines that are over at once the earliest counts", "[scheduler]") {
  Yard yard;
  yard.join("a");
  JobSpec spec = a_spec();
  spec.run_policy.max_run_seconds = 50;
  spec.scheduling.max_queued_seconds = 40;
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {1, {}});
  REQUIRE(yard.job("j").reason == Reason::backing_off);

  yard.pass(seconds(100));  // its backoff, its time to wait and its time to run

  CHECK(yard.job("j").state == JobState::failed);
  CHECK(yard.job("j").reason == Reason::queue_timeout);
}

TEST_CASE("a task's way to the parameters is the one that its newest process told", "[scheduler]") {
  using Phase = PhaseEvent::Phase;
  Yard yard;
  yard.join("a");
  REQUIRE(yard.submit("j", a_spec()));
  yard.obey("a");
  CHECK(yard.task("j", "worker/1").routes.empty());
  yard.tell("a", "worker/1", PhaseEvent{Phase::running, "ps/0 by shared memory"});
  CHECK(yard.task("j", "worker/1").routes == "ps/0 by shared memory");
  yard.tell("a", "worker/1", PhaseEvent{Phase::starting, "its process died and was started again"});
  yard.tell("a", "worker/1", PhaseEvent{Phase::running, "ps/0 by tcp"});
  CHECK(yard.task("j", "worker/1").routes == "ps/0 by tcp");
}

TEST_CASE("a gang that makes no progress is run again on the user's account", "[scheduler]") {
  Yard yard;
  yard.join("a");
  JobSpec spec = a_spec();
  spec.run_policy.no_progress_timeout_seconds = 5;
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  yard.pass(seconds(4));
  yard.tell("a", "worker/0", MetricEvent{10, 100, {{"loss", 1.0}}});
  yard.pass(seconds(4));
  CHECK(yard.job("j").state == JobState::running);
  yard.speak("a");
  yard.pass(seconds(1));
  CHECK(yard.job("j").reason == Reason::no_progress);
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {{}, 15});
  CHECK(yard.job("j").restarts == Restarts{1, 0});
}

}  // namespace trainyard::scheduler
