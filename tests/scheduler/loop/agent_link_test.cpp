// The Scheduler and an agent over real gRPC: a job from the first report to its downloaded model.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "scheduler/store/artifacts.h"
#include "schemas/wire/checkpoint_json.h"
#include "schemas/wire/safetensors.h"
#include "tests/scheduler/loop/running_job.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::scheduler;

TEST_CASE("each report is answered by an assignment that names it", "[link]") {
  Yard yard;
  AgentPeer agent(yard.agent_address(), "a1");

  for (std::int64_t number = 1; number <= 3; ++number) {
    REQUIRE(agent.report());
    const auto assignment = agent.next();
    REQUIRE(assignment);
    CHECK(assignment->agent == AgentId{"a1"});
    CHECK(assignment->epoch == 1);
    CHECK(assignment->answers == number);
    CHECK(assignment->tasks.empty());
  }

  const auto agents = value_of(yard.agents());
  REQUIRE(agents.size() == 1);
  CHECK(agents[0].record.host.capacity.cpus == 8);
}

TEST_CASE("a job goes from a report to its downloaded model", "[link]") {
  RunningJob run;
  const Files files(run.chief(), 600);

  run.tell(run.chief(), MetricEvent{300, 600, {{"loss", 0.75}}});
  run.tell(run.chief(), MetricEvent{600, 600, {{"loss", 0.5}}});
  run.announce(files, 600);
  CHECK(run.upload(run.ps(), files.shard_file, files.shard).complete);
  CHECK(run.upload(run.chief(), files.manifest_file, files.manifest).complete);
  run.wait_for_checkpoint(600);
  run.end_all();
  const Job job = run.yard.wait_for_state(run.id, JobState::succeeded);

  CHECK(job.latest_checkpoint == 600);
  const auto series = value_of(run.yard.reader().metrics(run.id, {}));
  REQUIRE(series.size() == 1);
  CHECK(series[0].points.size() == 2);
  const Checkpoint checkpoint = value_of(run.yard.reader().checkpoints(run.id)).at(0);
  const std::string path = value_of(run.yard.scheduler().model_file(checkpoint)).path;
  const std::string model = content_of(path);
  const auto header = value_of(decode_safetensors_header(model, std::ssize(model)));
  REQUIRE(header.entries.size() == 1);
  CHECK(header.entries[0].name == "w");
  CHECK(header.entries[0].shape == std::vector<std::int64_t>{2, 2});
  float values[4];
  std::memcpy(values, model.data() + header.data_start, sizeof values);
  CHECK(std::vector(values, values + 4) == std::vector<float>{1, 2, 3, 600});
  CHECK(value_of(run.yard.scheduler().model_file(checkpoint)).path == path);
}

TEST_CASE("a committed checkpoint that makes no model says why, over a restart too",
          "[link][mend-A3]") {
  RunningJob run;
  Files files(run.chief(), 600);
  Manifest content = value_of(parse_manifest(files.manifest));
  content.variables = {{"w", {std::int64_t{1} << 32, std::int64_t{1} << 32}}};
  files.manifest = to_json(content);
  files.manifest_file = {files.manifest_file.name, std::ssize(files.manifest),
                         sha256_hex(files.manifest)};
  run.announce(files, 600);
  CHECK(run.upload(run.ps(), files.shard_file, files.shard).complete);
  CHECK(run.upload(run.chief(), files.manifest_file, files.manifest).complete);
  run.wait_for_checkpoint(600);

  for (int start = 0; start < 2; ++start) {
    const Checkpoint checkpoint = value_of(run.yard.reader().checkpoints(run.id)).at(0);
    const auto file = run.yard.scheduler().model_file(checkpoint);
    REQUIRE_FALSE(file);
    CHECK(file.error().code == Code::conflict);
    CHECK(file.error().message.find("the shape of \"w\" is beyond") != std::string::npos);
    run.agent.reset();
    run.yard.restart();
  }
}

TEST_CASE("a file that came before its manifest counts, also over a restart of the server",
          "[link]") {
  RunningJob run;
  const Files files(run.chief(), 100);
  CHECK(run.upload(run.ps(), files.shard_file, files.shard).complete);
  CHECK(run.upload(run.chief(), files.manifest_file, files.manifest).complete);

  SECTION("without a restart") {}
  SECTION("over a restart") {
    AgentReport state = run.agent->state();
    run.agent.reset();
    run.yard.restart();
    run.agent = std::make_unique<AgentPeer>(run.yard.agent_address(), "a1");
    run.agent->state() = std::move(state);
    run.agent->report();
    CHECK(run.agent->until(wants_tasks).tasks.size() == 3);  // the gang is the same
  }
  run.announce(files, 100);

  run.wait_for_checkpoint(100);
  CHECK(value_of(run.yard.reader().job(run.id)).state == JobState::running);
}

TEST_CASE(
    "a pending checkpoint is committed after a restart that came before the word of its files",
    "[link]") {
  RunningJob run;
  const Files files(run.chief(), 100);
  run.announce(files, 100);
  CHECK(run.upload(run.ps(), files.shard_file, files.shard).complete);
  run.yard.wait_until(run.id, [&] {
    Store store = value_of(Store::open(run.yard.path("trainyard.db")));
    return value_of(store.load()).checkpoints.size() == 1;
  });
  run.agent.reset();
  run.yard.scheduler().stop();
  Artifacts artifacts(
      run.yard.path("artifacts"));  // as if the server had died right after the rename
  ArtifactUpload upload = value_of(artifacts.resume(run.id, files.manifest_file, 0));
  value_of(upload.append(files.manifest));
  value_of(upload.finish());

  run.yard.restart();

  run.wait_for_checkpoint(100);
}

TEST_CASE("an upload that broke off goes on", "[link]") {
  RunningJob run;
  const std::string content(5000, 'w');
  const ArtifactFile file{"step-1/shard", std::ssize(content), sha256_hex(content)};
  const auto part =
      run.agent->put({run.ps().task.key, run.ps().token, 0, content.substr(0, 2500)}, file);
  CHECK(part.status.ok());
  CHECK(part.bytes == 2500);
  CHECK_FALSE(part.complete);
  CHECK(run.agent->find(run.ps(), run.id.text, file.sha256).bytes == 2500);

  CHECK(run.upload(run.ps(), file, content, 0).status.error_code() != grpc::StatusCode::OK);
  CHECK(run.upload(run.ps(), file, content, 2500).complete);

  CHECK(run.agent->find(run.ps(), run.id.text, file.sha256).complete);
}

TEST_CASE("logs are stored per task attempt, and only with the attempt's own token", "[link]") {
  RunningJob run;
  const TaskKey key = run.ps().task.key;
  const std::string token = run.ps().token;

  CHECK(run.agent->append_log({key, token, 0, "one\n"}).end == 4);
  CHECK(run.agent->append_log({key, token, 0, "one\ntwo\n"}).end == 8);
  CHECK_FALSE(run.agent->append_log({key, "wrong", 8, "three\n"}).status.ok());
  TaskKey next_attempt = key;
  next_attempt.attempt = 2;
  CHECK_FALSE(run.agent->append_log({next_attempt, token, 0, "x"}).status.ok());
  TaskKey no_job = key;
  no_job.job = JobId{"j-none"};
  CHECK(run.agent->append_log({no_job, token, 0, "x"}).status.error_code() ==
        grpc::StatusCode::UNAUTHENTICATED);

  CHECK(content_of(run.yard.scheduler().log_path(key)) == "one\ntwo\n");
}

TEST_CASE("a file with another attempt's token is refused", "[link]") {
  RunningJob run;
  const std::string content = "content";
  const ArtifactFile file{"step-1/shard", std::ssize(content), sha256_hex(content)};

  CHECK_FALSE(run.agent->put({run.ps().task.key, "wrong", 0, content}, file).status.ok());

  CHECK(run.agent->find(run.ps(), run.id.text, file.sha256).bytes == 0);
}

TEST_CASE("a newer stream of an agent takes the place of the older", "[link]") {
  Yard yard;
  AgentPeer older(yard.agent_address(), "a1");
  older.report();
  older.next();
  AgentPeer newer(yard.agent_address(), "a1");
  newer.state().number = older.state().number;
  newer.report();
  REQUIRE(newer.next());

  CHECK_FALSE(older.finish().ok());
  CHECK(newer.report());
  CHECK(newer.next());
}

TEST_CASE("a second agent of one name hears why it is refused; the first goes on", "[link]") {
  Yard yard;
  AgentPeer first(yard.agent_address(), "a1");
  first.report();
  REQUIRE(first.next());
  AgentPeer second(yard.agent_address(), "a1", 7);
  second.state().instance = "another";
  second.report();
  REQUIRE_FALSE(second.next());

  const grpc::Status status = second.finish();

  CHECK(status.error_code() == grpc::StatusCode::ALREADY_EXISTS);
  CHECK(status.error_message().find("another agent has the name a1") == 0);
  CHECK(first.report());
  CHECK(first.next());
}

TEST_CASE("a report that makes no sense ends its stream with the reason", "[link]") {
  Yard yard;
  AgentPeer agent(yard.agent_address(), "a1");
  agent.report();
  agent.next();
  agent.state().agent = AgentId{"another"};
  agent.report();

  const grpc::Status status = agent.finish();

  CHECK(status.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
  CHECK(status.error_message().find("agent") != std::string::npos);
}

TEST_CASE("a deleted job leaves no files", "[link]") {
  RunningJob run;
  run.agent->append_log({run.ps().task.key, run.ps().token, 0, "line\n"});
  CHECK(run.upload(run.ps(), {"f", 1, sha256_hex("x")}, "x").complete);
  value_of(run.yard.act(run.id, JobAction::cancel));
  run.agent->until(
      [](const Assignment& now) { return std::ranges::all_of(now.tasks, is_told_to_stop); });
  for (TaskReport& task : run.agent->state().tasks) {
    task.state = TaskState::killed;
    task.exit.signal = 15;
  }
  run.agent->report();
  run.yard.wait_for_state(run.id, JobState::cancelled);

  value_of(run.yard.remove(run.id));
  run.yard.scheduler().stop();  // the sweeper ends what it was asked for
  run.yard.restart();           // or finds it at its start

  const auto is_gone = [&] {
    return !std::filesystem::exists(run.yard.path("logs/" + run.id.text)) &&
           !std::filesystem::exists(run.yard.path("artifacts/" + run.id.text));
  };
  CHECK(eventually(is_gone));
}
