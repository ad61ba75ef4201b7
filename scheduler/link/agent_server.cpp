#include "scheduler/link/agent_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <chrono>
#include <utility>

#include "scheduler/link/agent_stream.h"
#include "schemas/base/log.h"
#include "schemas/proto/agent.grpc.pb.h"
#include "schemas/wire/agent_codec.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;
constexpr int transfers_max =
    64;  // uploads and downloads at once: each holds a thread while it lasts
constexpr std::chrono::milliseconds stop_deadline{500};

using Generated = proto::AgentLink::Service;
using CallbackService =
    proto::AgentLink::WithCallbackMethod_Converge<proto::AgentLink::WithCallbackMethod_AppendLog<
        proto::AgentLink::WithCallbackMethod_FindArtifact<Generated>>>;

// Streams and short calls by callback, so that a thousand idle agents cost no thread; transfers,
// which wait for a disk and a peer in turn, on threads of their own.
class Service final : public CallbackService {
 public:
  explicit Service(AgentHandlers handlers) : handlers_(std::move(handlers)) {}

  ConnectedAgents& agents() { return agents_; }

  grpc::ServerBidiReactor<proto::AgentReport, proto::Assignment>* Converge(
      grpc::CallbackServerContext* context) override {
    return AgentStream::start(*context, agents_, handlers_.report);
  }

  grpc::ServerUnaryReactor* AppendLog(grpc::CallbackServerContext* context,
                                      const proto::LogPiece* piece,
                                      proto::LogStored* stored) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(as_grpc(append_log(*piece, *stored)));
    return reactor;
  }

  grpc::ServerUnaryReactor* FindArtifact(grpc::CallbackServerContext* context,
                                         const proto::ArtifactQuery* query,
                                         proto::ArtifactStatus* status) override {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(as_grpc(find_artifact(*query, *status)));
    return reactor;
  }

  grpc::Status PutArtifact(grpc::ServerContext*, grpc::ServerReader<proto::ArtifactPiece>* pieces,
                           proto::ArtifactStatus* status) override {
    return as_grpc(put_artifact(*pieces, *status));
  }

  grpc::Status GetArtifact(grpc::ServerContext*, const proto::ArtifactQuery* query,
                           grpc::ServerWriter<proto::ArtifactPiece>* pieces) override {
    return as_grpc(get_artifact(*query, *pieces));
  }

 private:
  static grpc::Status as_grpc(const Status& status) {
    return status ? grpc::Status::OK : to_grpc(status.error());
  }

  Status append_log(const proto::LogPiece& piece, proto::LogStored& stored) {
    TRY_ASSIGN(TaskKey task, from_proto(piece.key()));
    TRY_ASSIGN(const std::int64_t end, handlers_.append_log({.task = std::move(task),
                                                             .token = piece.token(),
                                                             .offset = piece.offset(),
                                                             .data = piece.data()}));
    stored.set_end(end);
    return ok();
  }

  Status find_artifact(const proto::ArtifactQuery& query, proto::ArtifactStatus& status) {
    TRY_ASSIGN(const ArtifactProgress found,
               handlers_.find_artifact(JobId{query.job()}, query.sha256()));
    status.set_bytes(found.bytes);
    status.set_complete(found.complete);
    return ok();
  }

  Status put_artifact(grpc::ServerReader<proto::ArtifactPiece>& pieces,
                      proto::ArtifactStatus& status) {
    proto::ArtifactPiece piece;
    if (!pieces.Read(&piece)) return invalid("an upload needs a first piece that names its file");
    TRY_ASSIGN(TaskKey task, from_proto(piece.key()));
    TRY_ASSIGN(ArtifactFile file, from_proto(piece.file()));
    TRY_ASSIGN(const Upload upload, handlers_.begin_upload({.task = std::move(task),
                                                            .token = piece.token(),
                                                            .file = std::move(file),
                                                            .offset = piece.offset()}));
    do {
      TRY(upload.append(piece.data()));
    } while (pieces.Read(&piece));
    TRY_ASSIGN(const ArtifactProgress stored, upload.finish());
    status.set_bytes(stored.bytes);
    status.set_complete(stored.complete);
    return ok();
  }

  Status get_artifact(const proto::ArtifactQuery& query,
                      grpc::ServerWriter<proto::ArtifactPiece>& pieces) {
    if (query.offset() < 0) return invalid("offset must be 0 or more");
    TRY_ASSIGN(const ReadArtifact read,
               handlers_.open_artifact(JobId{query.job()}, query.sha256()));
    proto::ArtifactPiece piece;
    std::int64_t offset = query.offset();
    while (true) {
      std::string& data = *piece.mutable_data();
      data.resize(piece_bytes);
      TRY_ASSIGN(const std::size_t count, read(offset, data));
      if (count == 0) return ok();
      data.resize(count);
      piece.set_offset(offset);
      if (!pieces.Write(piece)) return unavailable("the agent went away");
      offset += static_cast<std::int64_t>(count);
    }
  }

  AgentHandlers handlers_;
  ConnectedAgents agents_;
};

// A peer that does not answer a ping within 20 s is gone; agents may ping as often as each 5 s.
void set_channel_options(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(agent_message_bytes_max);
  builder.SetMaxSendMessageSize(agent_message_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a port in use is an error
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.SetResourceQuota(grpc::ResourceQuota("agent link").SetMaxThreads(transfers_max));
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
}

}  // namespace

struct AgentServer::Parts {
  explicit Parts(AgentHandlers handlers) : service(std::move(handlers)) {}

  Service service;
  std::string address;
  std::unique_ptr<grpc::Server> server;  // null once stopped
};

AgentServer::AgentServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

AgentServer::~AgentServer() { stop(); }

Result<std::unique_ptr<AgentServer>> AgentServer::listen(const std::string& address,
                                                         AgentHandlers handlers) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return invalid("agent address \"" + address + "\" is not of the form host:port");
  }
  auto parts = std::make_unique<Parts>(std::move(handlers));
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&parts->service);
  set_channel_options(builder);
  parts->server = builder.BuildAndStart();
  if (!parts->server || port == 0) return unavailable("cannot listen for agents on " + address);
  parts->address = address.substr(0, colon) + ":" + std::to_string(port);
  return std::unique_ptr<AgentServer>(new AgentServer(std::move(parts)));
}

std::string AgentServer::address() const { return parts_->address; }

void AgentServer::send(const Assignment& assignment) {
  const AgentStart to{assignment.agent, assignment.instance, assignment.epoch};
  if (const auto stream = parts_->service.agents().find(to)) stream->send(to_proto(assignment));
}

void AgentServer::refuse(const Refusal& refusal) {
  log_warning("agent_refused", {{"agent", refusal.agent.text},
                                {"instance", refusal.instance},
                                {"epoch", refusal.epoch},
                                {"why", refusal.why}});
  const AgentStart from{refusal.agent, refusal.instance, refusal.epoch};
  if (const auto stream = parts_->service.agents().find(from)) {
    stream->end({grpc::StatusCode::ALREADY_EXISTS, refusal.why});
  }
}

void AgentServer::stop() {
  if (!parts_->server) return;
  parts_->service.agents().end_all({grpc::StatusCode::UNAVAILABLE, "the server stops"});
  parts_->server->Shutdown(std::chrono::system_clock::now() + stop_deadline);
  parts_->server->Wait();
  parts_->server.reset();
}

}  // namespace trainyard::scheduler
