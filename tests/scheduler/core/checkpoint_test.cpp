// Checkpoints: committed when whole, kept by retention, resumed from; run events stored once.
#include <catch2/catch.hpp>
#include <limits>

#include "tests/scheduler/core/yard.h"

namespace trainyard::scheduler {
namespace {

ManifestEvent manifest(std::int64_t step, double loss) {
  const std::string name = std::to_string(step);
  return {
      step, {"m" + name, 1, "m" + name}, {{"s" + name, 1, "s" + name}}, {{"loss", loss}}, false};
}

void commit(Yard& yard, std::int64_t step, double loss) {
  yard.step(ArtifactStored{JobId{"j"}, "s" + std::to_string(step)});
  yard.tell("a", "worker/0", manifest(step, loss));
  yard.step(ArtifactStored{JobId{"j"}, "m" + std::to_string(step)});
}

Yard running_job(const CheckpointSpec& checkpoint = {}) {
  Yard yard;
  yard.join("a");
  JobSpec spec = a_spec();
  spec.checkpoint = checkpoint;
  REQUIRE(yard.submit("j", spec));
  yard.obey("a");
  return yard;
}

}  // namespace

TEST_CASE("a checkpoint is committed with its last file, whichever that is", "[scheduler]") {
  Yard yard = running_job();
  yard.step(ArtifactStored{JobId{"j"}, "s10"});  // before its manifest
  yard.tell("a", "worker/0", manifest(10, 1.0));
  CHECK(yard.checkpoints.at(10).state == CheckpointState::pending);
  CHECK_FALSE(yard.job("j").latest_checkpoint);
  yard.step(ArtifactStored{JobId{"j"}, "m10"});
  CHECK(yard.checkpoints.at(10).state == CheckpointState::committed);
  CHECK(yard.job("j").latest_checkpoint == 10);
}

TEST_CASE("a vocabulary is a file of its checkpoint", "[scheduler]") {
  Yard yard = running_job();
  ManifestEvent of_words = manifest(10, 1.0);
  of_words.vocabulary = ArtifactFile{"v10", 1, "v10"};
  yard.tell("a", "worker/0", of_words);
  yard.step(ArtifactStored{JobId{"j"}, "s10"});
  yard.step(ArtifactStored{JobId{"j"}, "m10"});
  CHECK(yard.checkpoints.at(10).state == CheckpointState::pending);
  yard.step(ArtifactStored{JobId{"j"}, "v10"});
  CHECK(yard.checkpoints.at(10).state == CheckpointState::committed);
  CHECK(yard.checkpoints.at(10).shards.back() == *of_words.vocabulary);
}

TEST_CASE("of checkpoints that come faster than their files the oldest and the newest stay",
          "[scheduler]") {
  Yard yard = running_job();
  const auto store = [&yard](std::int64_t step) {
    for (const char* file : {"m", "s"}) {
      yard.step(ArtifactStored{JobId{"j"}, file + std::to_string(step)});
    }
  };
  for (std::int64_t step = 1; step <= 200; ++step) {
    yard.tell("a", "worker/0", manifest(step, 1.0));
    if (step % 20 == 0) store(step / 20);  // far behind
  }
  CHECK(yard.job("j").latest_checkpoint == 10);
  store(11);
  CHECK(yard.job("j").latest_checkpoint == 11);
  CHECK(yard.checkpoints.at(150).state == CheckpointState::deleted);
  store(200);
  CHECK(yard.job("j").latest_checkpoint == 200);
}

TEST_CASE("only the chief announces checkpoints", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "worker/1", manifest(10, 1.0));
  CHECK(yard.checkpoints.empty());
}

TEST_CASE("the newest and the best are kept, the others given up", "[scheduler]") {
  CheckpointSpec keep;
  keep.keep_latest = 2;
  keep.keep_best = 1;
  keep.metric = "loss";
  Yard yard = running_job(keep);
  commit(yard, 10, 0.5);
  commit(yard, 20, 0.1);
  commit(yard, 30, 0.3);
  commit(yard, 40, 0.4);
  CHECK(yard.checkpoints.at(10).state == CheckpointState::deleted);
  CHECK(yard.checkpoints.at(20).state == CheckpointState::committed);
  CHECK(yard.checkpoints.at(30).state == CheckpointState::committed);
  CHECK(yard.checkpoints.at(40).state == CheckpointState::committed);
}

TEST_CASE("of accuracy the highest is the best", "[scheduler]") {
  CheckpointSpec keep;
  keep.keep_latest = 1;
  keep.metric = "accuracy";
  Yard yard = running_job(keep);
  for (const auto& [step, value] :
       std::vector<std::pair<std::int64_t, double>>{{10, 0.9}, {20, 0.5}, {30, 0.7}}) {
    ManifestEvent event = manifest(step, 0);
    event.metrics = {{"accuracy", value}};
    yard.tell("a", "worker/0", event);
    yard.step(ArtifactStored{JobId{"j"}, event.manifest.sha256});
    yard.step(ArtifactStored{JobId{"j"}, event.shards[0].sha256});
  }
  CHECK(yard.checkpoints.at(10).state == CheckpointState::committed);
  CHECK(yard.checkpoints.at(20).state == CheckpointState::deleted);
}

TEST_CASE("retention takes a metric that is no number for one that is not known", "[scheduler]") {
  CheckpointSpec keep;
  keep.keep_latest = 1;
  keep.keep_best = 1;
  keep.metric = "loss";
  Yard yard = running_job(keep);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  commit(yard, 10, nan);
  commit(yard, 20, 0.5);
  commit(yard, 30, nan);
  commit(yard, 40, nan);
  CHECK(yard.checkpoints.at(20).state == CheckpointState::committed);
  CHECK(yard.checkpoints.at(30).state == CheckpointState::deleted);
  CHECK(yard.checkpoints.at(40).state == CheckpointState::committed);
}

TEST_CASE("a step that a later attempt commits again is listed once, as the later one",
          "[scheduler]") {
  Yard yard = running_job();
  commit(yard, 10, 1.0);
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {1, {}});
  yard.pass(seconds(5));
  yard.obey("a");
  REQUIRE(yard.job("j").attempt == 2);

  ManifestEvent again = manifest(10, 1.0);
  again.manifest.sha256 = "m10 of attempt 2";
  again.final_one = true;
  yard.tell("a", "worker/0", again);
  CHECK(yard.checkpoint_rows.at({10, 1}).state == CheckpointState::committed);
  CHECK(yard.checkpoint_rows.at({10, 2}).state == CheckpointState::pending);
  yard.restart();  // the manifest is not told again
  yard.speak("a");
  yard.step(ArtifactStored{JobId{"j"}, "s10"});
  yard.step(ArtifactStored{JobId{"j"}, again.manifest.sha256});

  CHECK(yard.checkpoint_rows.at({10, 1}).state == CheckpointState::deleted);
  CHECK(yard.checkpoint_rows.at({10, 2}).state == CheckpointState::committed);
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {0, {}});
  CHECK(yard.job("j").state == JobState::succeeded);
}

TEST_CASE("a checkpoint that lost a file is given up, and the job goes on from an earlier one",
          "[scheduler]") {
  CheckpointSpec keep;
  keep.keep_latest = 3;
  Yard yard = running_job(keep);
  for (const std::int64_t step : {10, 20, 30}) commit(yard, step, 1.0);
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {1, {}});
  yard.pass(seconds(5));
  yard.obey("a");
  REQUIRE(yard.job("j").progress.step == 30);

  for (const char* file : {"s30", "s30", "m20", "of no checkpoint"}) {
    yard.step(ArtifactLost{JobId{"j"}, file});
  }
  yard.step(ArtifactLost{JobId{"no job"}, "s30"});
  CHECK(yard.checkpoints.at(30).state == CheckpointState::deleted);
  CHECK(yard.checkpoints.at(20).state == CheckpointState::deleted);
  CHECK(yard.job("j").latest_checkpoint == 10);
  yard.end("a", "ps/0", {1, {}});
  for (const char* task : {"worker/0", "worker/1"}) yard.end("a", task, {{}, 15});
  yard.pass(seconds(5));
  yard.obey("a");

  REQUIRE(yard.job("j").attempt == 3);
  CHECK(yard.job("j").progress.step == 10);
  commit(yard, 20, 1.0);  // again
  CHECK(yard.checkpoint_rows.at({20, 3}).state == CheckpointState::committed);
  yard.step(ArtifactLost{JobId{"j"}, "m20"});
  yard.step(ArtifactLost{JobId{"j"}, "m10"});
  CHECK_FALSE(yard.job("j").latest_checkpoint);
}

TEST_CASE("only tasks that hold parameters are given the files of a checkpoint", "[scheduler]") {
  Yard yard = running_job();
  commit(yard, 10, 1.0);
  for (const char* task : {"worker/0", "worker/1", "ps/0"}) yard.end("a", task, {1, {}});
  yard.pass(seconds(5));
  REQUIRE(yard.job("j").attempt == 2);
  for (const WantedTask& wanted : yard.wanted.at(AgentId{"a"}).tasks) {
    CHECK(wanted.restore.has_value() == (wanted.task.key.role == Role::ps));
  }
}

TEST_CASE("a pending checkpoint survives a restart of the server", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "worker/0", manifest(10, 1.0));
  yard.step(ArtifactStored{JobId{"j"}, "s10"});
  yard.restart();
  yard.step(ArtifactStored{JobId{"j"}, "s10"});  // the caller posts what it finds
  yard.step(ArtifactStored{JobId{"j"}, "m10"});
  CHECK(yard.checkpoints.at(10).state == CheckpointState::committed);
}

TEST_CASE("a job may start from a checkpoint of another", "[scheduler]") {
  Yard yard = running_job();
  commit(yard, 10, 1.0);
  JobSpec spec = a_spec();
  spec.worker.replicas = 1;
  spec.ps.replicas = 0;
  spec.training.strategy = Strategy::local;
  spec.checkpoint.resume_from = "j/20";
  CHECK(yard.submit("k", spec).error().code == Code::invalid);
  spec.checkpoint.resume_from = "j/10";
  REQUIRE(yard.submit("k", spec));
  CHECK(yard.job("k").progress.step == 10);
  const auto& tasks = yard.wanted.at(AgentId{"a"}).tasks;
  REQUIRE(tasks.back().restore);
  CHECK(tasks.back().restore->job == JobId{"j"});

  Job ended;
  ended.id = JobId{"gone"};
  Submit from_rows{
      ended, Checkpoint{JobId{"old"}, 5, 1, CheckpointState::committed, {}, {}, {}, true, {}}};
  from_rows.job.spec = spec;
  from_rows.job.sequence = 77;
  from_rows.job.spec.checkpoint.resume_from = "old/5";
  CHECK(yard.step(from_rows).outcome);
  CHECK(yard.step(DeleteJob{JobId{"old"}}).outcome.error().code == Code::conflict);
}

TEST_CASE("a run event counts once, however often it is sent", "[scheduler]") {
  Yard yard = running_job();
  yard.tell("a", "worker/0", MetricEvent{10, 100, {{"loss", 0.5}}});
  yard.speak("a");
  CHECK(yard.events.size() == 1);
  CHECK(yard.job("j").progress.step == 10);
  CHECK(yard.job("j").progress.max_steps == 100);
  const auto& tasks = yard.wanted.at(AgentId{"a"}).tasks;
  CHECK(tasks[1].task.key.role == Role::worker);
  CHECK(tasks[1].events_stored == 100);

  yard.tell("a", "worker/0", MetricEvent{20, 100, {{"loss", 0.4}}});
  CHECK(yard.events.size() == 2);
  CHECK(yard.job("j").progress.metrics.at("loss") == Approx(0.4));
}

TEST_CASE("what a task tells without words is no line of the job's timeline", "[scheduler]") {
  const auto lines_of = [](const std::string& detail) {
    Yard yard;
    yard.join("a");
    REQUIRE(yard.submit("j"));
    yard.obey("a");
    AgentReport& report = yard.report_of("a");
    TaskReport& task = yard.shown("a", "worker/1");
    task.events = {{yard.now.wall, 0, PhaseEvent{PhaseEvent::Phase::finishing, detail}}};
    task.events_end = 80;
    ++report.number;
    std::vector<std::string> lines;
    for (const Change& change : yard.step(report).save) {
      const auto* line = std::get_if<AppendJobEvent>(&change);
      if (line != nullptr) lines.push_back(line->task + " " + line->message);
    }
    return lines;
  };
  CHECK(lines_of("").empty());
  CHECK(lines_of("writes its model") == std::vector<std::string>{"worker/1 writes its model"});
}

TEST_CASE("output without an event is not read again, and stores nothing", "[scheduler]") {
  Yard yard = running_job();
  AgentReport& report = yard.report_of("a");
  yard.shown("a", "worker/1").events_end = 80;
  ++report.number;
  const Step step = yard.step(report);
  for (const Change& change : step.save)
    CHECK_FALSE(std::holds_alternative<AppendRunEvents>(change));
  CHECK(yard.task("j", "worker/1").events_end == 80);
}

}  // namespace trainyard::scheduler
