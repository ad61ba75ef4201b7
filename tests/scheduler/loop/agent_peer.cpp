#include "tests/scheduler/loop/agent_peer.h"

#include <algorithm>
#include <stdexcept>

#include "schemas/wire/agent_codec.h"
#include "schemas/wire/call_token.h"
#include "tests/support/waiting.h"

namespace trainyard::scheduler {
namespace {

void set_deadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + patience);
}

}  // namespace

AgentPeer::AgentPeer(const std::string& address, const std::string& name, std::int64_t epoch)
    : stub_(proto::AgentLink::NewStub(
          grpc::CreateChannel(address, grpc::InsecureChannelCredentials()))) {
  set_deadline(context_);
  stream_ = stub_->Converge(&context_);
  state_.agent = AgentId{name};
  state_.instance = name + "-folder";
  state_.epoch = epoch;
  state_.host = {.address = "127.0.0.1",
                 .capacity = {.cpus = 8, .memory_mb = 64'000, .gpus = 0},
                 .gpus = {},
                 .first_port = 20'000,
                 .last_port = 20'999,
                 .labels = {},
                 .agent_version = "0.1.0"};
}

AgentPeer::~AgentPeer() { context_.TryCancel(); }

bool AgentPeer::report() {
  ++state_.number;
  return stream_->Write(to_proto(state_));
}

std::optional<Assignment> AgentPeer::next() {
  proto::Assignment message;
  if (!stream_->Read(&message)) return std::nullopt;
  auto assignment = from_proto(message);
  if (!assignment) throw std::runtime_error(assignment.error().message);
  return *std::move(assignment);
}

grpc::Status AgentPeer::finish() {
  stream_->WritesDone();
  proto::Assignment late;
  while (stream_->Read(&late)) {
  }
  return stream_->Finish();
}

TaskReport& AgentPeer::task(const WantedTask& wanted) {
  const auto found = std::ranges::find(state_.tasks, wanted.task.key, &TaskReport::key);
  if (found != state_.tasks.end()) return *found;
  TaskReport& task = state_.tasks.emplace_back();
  task.key = wanted.task.key;
  task.token = wanted.token;
  task.pid = 1000;
  task.started_at = {1};
  return task;
}

AgentPeer::LogAnswer AgentPeer::append_log(const Piece& piece) {
  grpc::ClientContext context;
  set_deadline(context);
  proto::LogPiece message;
  attach_token(context, {piece.task, piece.token});
  message.set_offset(piece.offset);
  message.set_data(piece.data);
  proto::LogStored stored;
  const grpc::Status status = stub_->AppendLog(&context, message, &stored);
  return {status, stored.end()};
}

AgentPeer::FileAnswer AgentPeer::find(const WantedTask& by, const std::string& job,
                                      const std::string& sha256) {
  grpc::ClientContext context;
  set_deadline(context);
  attach_token(context, {by.task.key, by.token});
  proto::ArtifactQuery query;
  query.set_job(job);
  query.set_sha256(sha256);
  proto::ArtifactStatus found;
  const grpc::Status status = stub_->FindArtifact(&context, query, &found);
  return {status, found.bytes(), found.complete()};
}

AgentPeer::FileAnswer AgentPeer::put(const Piece& piece, const ArtifactFile& file) {
  grpc::ClientContext context;
  set_deadline(context);
  attach_token(context, {piece.task, piece.token});
  proto::ArtifactStatus stored;
  const auto writer = stub_->PutArtifact(&context, &stored);
  proto::ArtifactPiece message;
  *message.mutable_file() = to_proto(file);
  message.set_offset(piece.offset);
  for (std::size_t at = 0; at == 0 || at < piece.data.size(); at += 1000) {
    message.set_data(piece.data.substr(at, 1000));
    if (!writer->Write(message)) break;
    message.Clear();
  }
  writer->WritesDone();
  const grpc::Status status = writer->Finish();
  return {status, stored.bytes(), stored.complete()};
}

AgentPeer::Fetched AgentPeer::get(const WantedTask& by, const std::string& job,
                                  const std::string& sha256, std::int64_t offset) {
  grpc::ClientContext context;
  set_deadline(context);
  attach_token(context, {by.task.key, by.token});
  proto::ArtifactQuery query;
  query.set_job(job);
  query.set_sha256(sha256);
  query.set_offset(offset);
  const auto reader = stub_->GetArtifact(&context, query);
  Fetched fetched;
  proto::ArtifactPiece piece;
  while (reader->Read(&piece)) fetched.content += piece.data();
  fetched.status = reader->Finish();
  return fetched;
}

}  // namespace trainyard::scheduler
