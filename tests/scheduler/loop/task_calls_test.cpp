// What an agent may do for a task, and what strangers may not: over real gRPC, by tokens, attempts,
// sizes and idleness.
#include <grpcpp/generic/generic_stub.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <deque>
#include <filesystem>
#include <vector>

#include "scheduler/link/agent_server.h"
#include "schemas/files/secret.h"
#include "schemas/wire/call_token.h"
#include "tests/scheduler/loop/running_job.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::scheduler;

namespace {

using grpc::StatusCode;

std::unique_ptr<proto::AgentLink::Stub> stub_for(const std::string& address) {
  return proto::AgentLink::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

// An upload that brings nothing.
struct IdleUpload {
  grpc::ClientContext context;
  proto::ArtifactStatus status;
  std::unique_ptr<grpc::ClientWriter<proto::ArtifactPiece>> writer;

  void begin(proto::AgentLink::Stub& stub) {
    context.set_deadline(std::chrono::system_clock::now() + patience);
    writer = stub.PutArtifact(&context, &status);
  }
};

// A call of the method that sends no message, and what it hears.
grpc::Status silent_call(const std::string& address, const std::string& method,
                         const CallToken* by) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + patience);
  if (by != nullptr) attach_token(context, *by);
  grpc::CompletionQueue queue;
  const auto call = stub.PrepareCall(&context, "/trainyard.proto.AgentLink/" + method, &queue);
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool good = false;
    queue.Next(&tag, &good);
  };
  call->StartCall(nullptr);
  wait();
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  return status;
}

}  // namespace

TEST_CASE("only the task's own token lets a call in [mend-A9]", "[link]") {
  RunningJob run;
  const ArtifactFile file{"step-1/shard", 1, sha256_hex("x")};
  const WantedTask& ps = run.ps();
  CHECK(ps.token.size() == 32);
  CHECK(ps.token != run.chief().token);
  CHECK(ps.token != ps.task.token);
  CHECK(ps.task.token == run.chief().task.token);

  std::string changed = ps.token;
  changed.back() = changed.back() == '0' ? '1' : '0';
  for (const std::string& token : {std::string(), changed, run.chief().token, ps.task.token,
                                   ps.token + "0", ps.token.substr(0, 31)}) {
    WantedTask forged = ps;
    forged.token = token;
    const auto refused = StatusCode::UNAUTHENTICATED;
    CHECK(run.agent->append_log({ps.task.key, token, 0, "x"}).status.error_code() == refused);
    CHECK(run.agent->put({ps.task.key, token, 0, "x"}, file).status.error_code() == refused);
    CHECK(run.agent->find(forged, run.id.text, file.sha256).status.error_code() == refused);
    CHECK(run.agent->get(forged, run.id.text, file.sha256, 0).status.error_code() == refused);
  }
  CHECK(run.agent->find(ps, "j-other", file.sha256).status.error_code() ==
        StatusCode::INVALID_ARGUMENT);
  CHECK(run.agent->put({ps.task.key, ps.token, 0, "x"}, file).complete);
}

TEST_CASE("tokens outlive the server, and come of a key that only it can read [mend-A9]",
          "[link]") {
  RunningJob run;
  const auto before = run.assignment;
  struct stat key {};
  REQUIRE(::stat(run.yard.path("token.key").c_str(), &key) == 0);
  CHECK((key.st_mode & 0777) == 0600);
  CHECK(key.st_size == 32);

  run.agent.reset();
  run.yard.restart();
  run.agent = std::make_unique<AgentPeer>(run.yard.agent_address(), "a1");

  CHECK(run.agent->append_log({run.ps().task.key, run.ps().token, 0, "x"}).status.ok());
}

TEST_CASE("tasks whose key is lost are given up once their agent shows them", "[link]") {
  RunningJob run;
  const AgentReport before = run.agent->state();
  run.agent.reset();
  REQUIRE(std::filesystem::remove(run.yard.path("token.key")));
  run.yard.restart();
  run.agent = std::make_unique<AgentPeer>(run.yard.agent_address(), "a1");
  run.agent->state() = before;

  run.agent->report();

  const Job job = run.yard.wait_for_state(run.id, JobState::queued);
  CHECK(job.attempt == 1);
  CHECK(job.first_failure.value().reason == Reason::agent_lost);
}

TEST_CASE("a task fetches the checkpoint that it was given, and nothing else [mend-A9]", "[link]") {
  RunningJob run;
  const Files files(run.chief(), 100);
  run.commit(files, 100);
  const ArtifactFile unnamed{"f", 1, sha256_hex("x")};
  CHECK(run.upload(run.ps(), unnamed, "x").complete);
  const WantedTask older = run.ps();
  const JobId source = run.id;
  CHECK(run.agent->get(older, source.text, files.shard_file.sha256, 0).status.error_code() ==
        StatusCode::INVALID_ARGUMENT);  // it began with none
  run.suspend();

  SECTION("the next attempt of the job") { value_of(run.yard.act(run.id, JobAction::resume)); }
  SECTION("another job that resumes from it") {
    run.id = value_of(run.yard.submit(a_request(R"(, "checkpoint": {"resume_from": ")" +
                                                source.text + R"(/100"})")))
                 .job.id;
  }
  run.run_what_is_wanted();

  const auto get = [&](const std::string& sha256, std::int64_t offset) {
    return run.agent->get(run.ps(), source.text, sha256, offset);
  };
  CHECK(get(files.shard_file.sha256, 0).content == files.shard);
  CHECK(get(files.shard_file.sha256, 10).content == files.shard.substr(10));
  CHECK(get(files.manifest_file.sha256, 0).content == files.manifest);
  CHECK(get(unnamed.sha256, 0).status.error_code() == StatusCode::INVALID_ARGUMENT);
}

TEST_CASE("a checkpoint whose file is damaged or gone is given up when a task fetches it",
          "[link]") {
  RunningJob run;
  const Files earlier(run.chief(), 100);
  run.commit(earlier, 100);
  const Files files(run.chief(), 200);
  run.commit(files, 200);
  run.suspend();
  const std::string path =
      run.yard.path("artifacts/" + run.id.text + "/" + files.shard_file.sha256);
  SECTION("damaged") { std::filesystem::resize_file(path, 10); }
  SECTION("gone") { std::filesystem::remove(path); }
  value_of(run.yard.act(run.id, JobAction::resume));
  run.run_what_is_wanted();

  const auto answer = run.agent->get(run.ps(), run.id.text, files.shard_file.sha256, 0);

  CHECK(answer.status.error_code() == StatusCode::NOT_FOUND);
  run.yard.wait_until(
      run.id, [&] { return value_of(run.yard.reader().job(run.id)).latest_checkpoint == 100; });
  const auto left = value_of(run.yard.reader().checkpoints(run.id));
  REQUIRE(left.size() == 1);
  CHECK(left[0].step == 100);
}

TEST_CASE("logs and files of an older attempt are refused, up to its end they are taken [mend-A9]",
          "[link]") {
  RunningJob run;
  const WantedTask older = run.ps();
  const ArtifactFile file{"f", 1, sha256_hex("x")};
  value_of(run.yard.act(run.id, JobAction::suspend));
  run.agent->until(
      [](const Assignment& now) { return std::ranges::all_of(now.tasks, is_told_to_stop); });
  CHECK(run.agent->append_log({older.task.key, older.token, 0, "last words\n"}).end == 11);
  CHECK(run.agent->put({older.task.key, older.token, 0, "x"}, file).complete);

  run.agent->report();  // whose answer suspend() waits for
  run.suspend();
  SECTION("while no other runs") {}
  SECTION("beside a newer") {
    value_of(run.yard.act(run.id, JobAction::resume));
    run.run_what_is_wanted();
  }

  const ArtifactFile late{"g", 1, sha256_hex("y")};
  const auto refused = StatusCode::FAILED_PRECONDITION;
  CHECK(run.agent->append_log({older.task.key, older.token, 11, "x"}).status.error_code() ==
        refused);
  CHECK(run.agent->put({older.task.key, older.token, 0, "y"}, late).status.error_code() == refused);
  CHECK(run.agent->find(older, run.id.text, late.sha256).status.error_code() == refused);
  CHECK(content_of(run.yard.scheduler().log_path(older.task.key)) == "last words\n");
}

TEST_CASE("an upload's size is checked before disk is used [mend-A9]", "[link]") {
  RunningJob run;
  const Files files(run.chief(), 100);
  run.announce(files, 100);
  run.yard.wait_until(
      run.id, [&] { return value_of(run.yard.reader().kept_checkpoints(run.id)).size() == 1; });
  const std::string sha256 = sha256_hex("x");
  const auto put = [&](const ArtifactFile& file) {
    return run.agent->put({run.ps().task.key, run.ps().token, 0, "x"}, file).status.error_code();
  };

  CHECK(put({"f", std::int64_t{1} << 62, sha256}) == StatusCode::INVALID_ARGUMENT);
  CHECK(put({"f", std::int64_t{1} << 40, sha256}) == StatusCode::UNAVAILABLE);  // no such disk
  ArtifactFile other = files.shard_file;
  other.bytes += 1;
  CHECK(put(other) == StatusCode::INVALID_ARGUMENT);
  CHECK_FALSE(std::filesystem::exists(run.yard.path("artifacts/" + run.id.text)));
}

TEST_CASE("a call without a token is closed before it sends anything [mend-A5]", "[link]") {
  RunningJob run;
  const CallToken wrong{run.ps().task.key, std::string(32, '0')};

  for (const char* method : {"AppendLog", "FindArtifact", "PutArtifact", "GetArtifact"}) {
    CAPTURE(method);
    CHECK(silent_call(run.yard.agent_address(), method, nullptr).error_code() ==
          StatusCode::UNAUTHENTICATED);
    CHECK(silent_call(run.yard.agent_address(), method, &wrong).error_code() ==
          StatusCode::UNAUTHENTICATED);
  }
  CHECK(silent_call(run.yard.agent_address(), "Nothing", nullptr).error_code() ==
        StatusCode::UNIMPLEMENTED);
}

TEST_CASE("idle uploads of strangers do not stop a checkpoint [mend-A5]", "[link]") {
  RunningJob run;
  const auto stub = stub_for(run.yard.agent_address());
  std::deque<IdleUpload> idle(200);
  for (IdleUpload& call : idle) call.begin(*stub);

  const Files files(run.chief(), 100);
  run.announce(files, 100);
  // As an agent does: it tries again while the strangers are being turned away.
  CHECK(
      eventually([&] { return run.upload(run.ps(), files.shard_file, files.shard).status.ok(); }));
  CHECK(eventually(
      [&] { return run.upload(run.chief(), files.manifest_file, files.manifest).status.ok(); }));
  run.wait_for_checkpoint(100);

  for (IdleUpload& call : idle) {
    const StatusCode code = call.writer->Finish().error_code();
    const bool is_turned_away =
        code == StatusCode::UNAUTHENTICATED ||
        code == StatusCode::RESOURCE_EXHAUSTED;  // as all threads turned others away
    CHECK(is_turned_away);
  }
}

TEST_CASE("uploads of one task that bring nothing leave the other tasks theirs", "[link]") {
  RunningJob run;
  const auto stub = stub_for(run.yard.agent_address());
  std::deque<IdleUpload> idle(100);
  for (IdleUpload& call : idle) {
    attach_token(call.context, {run.ps().task.key, run.ps().token});
    call.begin(*stub);
  }
  const auto put = [&](const WantedTask& by, const std::string& content) {
    return run.upload(by, {"f", std::ssize(content), sha256_hex(content)}, content);
  };

  // Eight of them stay; what comes beside them, of the same task, is sent away.
  CHECK(eventually([&] {
    const grpc::Status status = put(run.ps(), "x").status;
    return status.error_code() == StatusCode::RESOURCE_EXHAUSTED &&
           status.error_message().find("ps/0 has 8 uploads going on") != std::string::npos;
  }));
  CHECK(eventually([&] { return put(run.chief(), "y").complete; }));

  for (IdleUpload& call : idle) call.context.TryCancel();
  for (IdleUpload& call : idle) static_cast<void>(call.writer->Finish());
  CHECK(eventually([&] { return put(run.ps(), "z").complete; }));
}

TEST_CASE("a call that brings nothing is ended after a while [mend-A5]", "[link]") {
  AgentCallbacks callbacks;
  callbacks.report = [](const ArrivedReport&) {};
  callbacks.is_token_of = [](const TaskKey&, const std::string&) { return true; };
  callbacks.admit = [](const TaskKey&) { return ok(); };
  callbacks.begin_upload = [](const UploadStart&) -> Result<Upload> {
    return Upload{.append = [](std::string_view) { return ok(); },
                  .finish = []() -> Result<ArtifactProgress> { return ArtifactProgress{}; }};
  };
  const auto server = value_of(AgentServer::listen(
      {.address = "127.0.0.1:0", .idle_limit = Millis{200}}, std::move(callbacks)));
  const CallToken any{{JobId{"j-1"}, 1, Role::ps, 0}, "token"};

  for (const char* method : {"Converge", "AppendLog", "FindArtifact", "PutArtifact"}) {
    CAPTURE(method);
    const grpc::Status ended = silent_call(server->address(), method, &any);
    CHECK_FALSE(ended.ok());
    CHECK(ended.error_code() != StatusCode::DEADLINE_EXCEEDED);
  }
}
