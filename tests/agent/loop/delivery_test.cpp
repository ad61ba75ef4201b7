// What tasks leave behind gets to the server, whole and once, and back to where a restore needs it.
#include <catch2/catch.hpp>
#include <filesystem>
#include <numeric>

#include "schemas/files/sha256.h"
#include "tests/agent/loop/yard.h"
#include "tests/support/waiting.h"

namespace trainyard::agent {
namespace {

ArtifactFile file_of(const std::string& name, const std::string& content) {
  return {.name = name,
          .bytes = static_cast<std::int64_t>(content.size()),
          .sha256 = sha256_hex(content)};
}

Checkpoint a_checkpoint(const std::string& manifest, const std::string& shard) {
  Checkpoint checkpoint;
  checkpoint.job = JobId{"j-0"};
  checkpoint.step = 5;
  checkpoint.attempt = 1;
  checkpoint.state = CheckpointState::committed;
  checkpoint.manifest = file_of("step-5/manifest.json", manifest);
  checkpoint.shards = {file_of("step-5/shard.safetensors", shard)};
  return checkpoint;
}

}  // namespace

TEST_CASE("an announced file is at the server before the task's end is shown", "[agent]") {
  Yard yard("phase running; shard 1 'the weights'; exit 0");
  const WantedTask wanted = a_wanted_task("j-1", Role::ps);
  yard.server.want(wanted);

  REQUIRE(yard.server.wait_for_end(wanted.task.key));

  CHECK(yard.server.artifact(sha256_hex("the weights")) == "the weights");
}

TEST_CASE("of many checkpoints the newest two stay on the host", "[agent]") {
  Yard yard(
      "phase running; for step in 1 2 3 4; do shard $step \"weights $step\"; done;"
      "while [ -e step-2 ]; do sleep 0.01; done; ls; exit 0");
  const WantedTask wanted = a_wanted_task("j-1", Role::ps);
  yard.server.want(wanted);

  REQUIRE(yard.server.wait_for_end(wanted.task.key));

  CHECK(yard.server.log_of(wanted.task.key).find("step-3\nstep-4\n") != std::string::npos);
  CHECK(yard.server.artifact(sha256_hex("weights 1")) == "weights 1");
}

TEST_CASE("a task finds the checkpoint that it restores where its task.json says", "[agent]") {
  Yard yard("cat ../restore/step-5/manifest.json ../restore/step-5/shard.safetensors; cat $1");
  WantedTask wanted = a_wanted_task("j-1", Role::ps);
  const std::string shard(300'000, 's');
  yard.server.put_artifact("a manifest ");
  yard.server.put_artifact(shard);
  wanted.restore = a_checkpoint("a manifest ", shard);
  yard.server.want(wanted);

  REQUIRE(yard.server.wait_for_end(wanted.task.key));

  const std::string log = yard.server.log_of(wanted.task.key);
  CHECK(log.starts_with("a manifest " + shard));
  CHECK(log.find("tasks/j-1/1/restore") != std::string::npos);
}

TEST_CASE("a checkpoint that the server has not fails the start and names the reason", "[agent]") {
  Yard yard("exit 0");
  WantedTask wanted = a_wanted_task("j-1", Role::ps);
  wanted.restore = a_checkpoint("nobody has this", "nor this");
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);

  REQUIRE(end);
  CHECK(end->state == TaskState::failed);
  CHECK(end->reason == Reason::checkpoint_lost);
}

TEST_CASE("a disk that has no room for a checkpoint is the reason, and is not waited for",
          "[agent][mend-B3]") {
  Yard yard("exit 0");
  WantedTask wanted = a_wanted_task("j-1", Role::ps);
  const std::string shard(300'000, 's');
  yard.server.put_artifact("a manifest ");
  yard.server.put_artifact(shard);
  wanted.restore = a_checkpoint("a manifest ", shard);
  // The file that the shard is written to first.
  const std::string partial = yard.file("work/tasks/j-1/1/restore/step-5/shard.safetensors.part");
  REQUIRE(eventually([&] { return std::filesystem::exists(yard.file("work/lease")); }));
  std::filesystem::create_directories(std::filesystem::path(partial).parent_path());
  std::filesystem::create_symlink("/dev/full", partial);
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);

  REQUIRE(end);
  CHECK(end->state == TaskState::failed);
  CHECK(end->reason == Reason::no_space);
  CHECK_THAT(end->message, Catch::Contains("/restore/step-5/shard"));
}

TEST_CASE("a long log arrives whole and in order", "[agent]") {
  Yard yard("i=0; while [ $i -lt 60000 ]; do echo \"line $i of the log\"; i=$((i+1)); done");
  const WantedTask wanted = a_wanted_task("j-1");
  yard.server.want(wanted);

  REQUIRE(yard.server.wait_for_end(wanted.task.key));

  std::string expected;
  for (int i = 0; i < 60000; ++i) expected += "line " + std::to_string(i) + " of the log\n";
  CHECK((yard.server.log_of(wanted.task.key) == expected));  // not printed when it differs
}

TEST_CASE("of a log that is too large head and end arrive, and a line that says what is cut",
          "[agent][mend-B15]") {
  Yard yard("echo first; yes 'again and again' | head -c 30000000; echo last", 2 << 20);
  const WantedTask wanted = a_wanted_task("j-1");
  yard.server.want(wanted);

  REQUIRE(yard.server.wait_for_end(wanted.task.key));

  const std::string log = yard.server.log_of(wanted.task.key);
  CHECK(log.starts_with("first\nagain and again\n"));
  CHECK(log.ends_with("again and again\nlast\n"));
  CHECK((log.find("bytes are cut out here]\n") != std::string::npos));
  CHECK((log.find('\0') == std::string::npos));
  CHECK(log.size() < 29'000'000);
}

TEST_CASE("many run events arrive, each once and in order", "[agent]") {
  Yard yard("phase running; i=0; while [ $i -lt 20000 ]; do metric $i; i=$((i+1)); done");
  const WantedTask wanted = a_wanted_task("j-1");
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);

  const auto events = yard.server.events_of(wanted.task.key);
  REQUIRE(events.size() == 20001);
  REQUIRE(end);
  std::int64_t step = 0;
  for (const RunEvent& event : events) {
    if (const auto* metric = std::get_if<MetricEvent>(&event.what)) {
      if (metric->step != step++) FAIL("step " << metric->step << " instead of " << step - 1);
    }
  }
}

TEST_CASE("a line of nonsense among the run events is dropped, and the rest arrives", "[agent]") {
  Yard yard(
      "phase running; echo 'not JSON' >> events.jsonl; metric 7; printf half >> events.jsonl");
  const WantedTask wanted = a_wanted_task("j-1");
  yard.server.want(wanted);

  REQUIRE(yard.server.wait_for_end(wanted.task.key));

  CHECK(yard.server.events_of(wanted.task.key).size() == 2);
}

TEST_CASE("run events that cannot be read do not keep a task from ending", "[agent]") {
  Yard yard("phase running; rm events.jsonl; mkfifo events.jsonl; exit 3");
  const WantedTask wanted = a_wanted_task("j-1");
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);

  REQUIRE(end);
  CHECK(end->exit.code == 3);
}

TEST_CASE("what the server refuses for good does not keep a task from ending", "[agent]") {
  Yard yard("phase running; shard 1 weights; echo hello; exit 0");
  yard.server.refuse_deliveries({grpc::StatusCode::INVALID_ARGUMENT, "no such job"});
  const WantedTask wanted = a_wanted_task("j-1", Role::ps);
  yard.server.want(wanted);

  const auto end = yard.server.wait_for_end(wanted.task.key);

  REQUIRE(end);
  CHECK(end->state == TaskState::succeeded);
  CHECK(yard.server.log_of(wanted.task.key).empty());
}

TEST_CASE("what the server cannot take now is brought again", "[agent]") {
  Yard yard("phase running; shard 1 weights; echo hello; touch done; exit 0");
  yard.server.refuse_deliveries({grpc::StatusCode::UNAVAILABLE, "the disk is full"});
  const WantedTask wanted = a_wanted_task("j-1", Role::ps);
  yard.server.want(wanted);
  REQUIRE(eventually(
      [&] { return std::filesystem::exists(yard.task_folder(wanted.task.key) + "/done"); }));

  yard.server.refuse_deliveries(grpc::Status::OK);

  REQUIRE(yard.server.wait_for_end(wanted.task.key));
  CHECK(yard.server.artifact(sha256_hex("weights")) == "weights");
  CHECK(yard.server.log_of(wanted.task.key) == "hello\n");
}

}  // namespace trainyard::agent
