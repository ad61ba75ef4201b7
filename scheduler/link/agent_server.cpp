#include "scheduler/link/agent_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "scheduler/link/agent_stream.h"
#include "scheduler/link/task_calls.h"
#include "schemas/base/listen.h"
#include "schemas/base/log.h"
#include "schemas/proto/agent.grpc.pb.h"
#include "schemas/wire/agent_codec.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::scheduler {
namespace {

constexpr int transfers_max = 64;         // uploads at once: each holds a thread while it lasts
constexpr int transfers_of_task_max = 8;  // of those; an agent sends one file of a task at a time
constexpr int streams_per_connection_max = 256;
constexpr int handshake_millis = 10'000;  // for a connection to say that it speaks HTTP/2
constexpr std::size_t unread_bytes_max = 256 << 20;  // of all messages that are half here
constexpr std::chrono::milliseconds stop_deadline{500};

using Generated = proto::AgentLink::Service;
// TaskCalls takes what is generic here.
using CallbackService = proto::AgentLink::WithRawCallbackMethod_Converge<
    proto::AgentLink::WithGenericMethod_AppendLog<proto::AgentLink::WithGenericMethod_FindArtifact<
        proto::AgentLink::WithGenericMethod_GetArtifact<Generated>>>>;

// Who of the uploads holds a thread: one task must not have all of them. Safe from several threads.
class UploadPlaces {
 public:
  struct GiveBack {
    TaskKey task;
    void operator()(UploadPlaces* of) const { of->give_back(task); }
  };
  using Place = std::unique_ptr<UploadPlaces, GiveBack>;  // given back when it goes

  // Null where the task has as many as it may.
  Place take(const TaskKey& task) {
    const std::lock_guard lock(mutex_);
    int& count = counts_[task];
    if (count == transfers_of_task_max) return {nullptr, {}};
    ++count;
    return {this, {task}};
  }

 private:
  void give_back(const TaskKey& task) {
    const std::lock_guard lock(mutex_);
    const auto entry = counts_.find(task);
    if (--entry->second == 0) counts_.erase(entry);
  }

  std::mutex mutex_;
  std::map<TaskKey, int> counts_;  // guarded by mutex_; of tasks that upload, so at most 64
};

// Streams and short calls by callback, so that a thousand idle agents cost no thread; uploads,
// which wait for a disk and a peer in turn, on threads of their own.
class Service final : public CallbackService {
 public:
  Service(const AgentCallbacks& callbacks, IdleWatch& watch)
      : callbacks_(callbacks), watch_(watch) {}

  ConnectedAgents& agents() { return agents_; }

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Converge(
      grpc::CallbackServerContext* context) override {
    return AgentStream::start(*context, agents_, watch_, callbacks_.report);
  }

  grpc::Status PutArtifact(grpc::ServerContext* context,
                           grpc::ServerReader<proto::ArtifactPiece>* pieces,
                           proto::ArtifactStatus* status) override {
    const Admission admission = admit_call(*context, callbacks_);
    if (!admission.refusal.ok()) return admission.refusal;
    const UploadPlaces::Place place = places_.take(admission.task);
    if (!place) {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED,
              to_string(admission.task) + " has " + std::to_string(transfers_of_task_max) +
                  " uploads going on, as many as it may: try again when one of them is over"};
    }
    const Status put = put_artifact({admission.task, *context}, *pieces, *status);
    return put ? grpc::Status::OK : to_grpc(put.error());
  }

 private:
  struct Put {
    const TaskKey& task;
    grpc::ServerContext& context;
  };
  // Watched only while the agent is waited for: what is stored of a large file takes its time to be
  // hashed, and the whole of it to be durable.
  Status put_artifact(const Put& put, grpc::ServerReader<proto::ArtifactPiece>& pieces,
                      proto::ArtifactStatus& status) {
    std::optional<IdleWatch::Call> watched(std::in_place, watch_, put.context);
    proto::ArtifactPiece piece;
    if (!pieces.Read(&piece)) return invalid("an upload needs a first piece that names its file");
    watched.reset();
    TRY_ASSIGN(ArtifactFile file, from_proto(piece.file()));
    TRY_ASSIGN(const Upload upload,
               callbacks_.begin_upload(
                   {.task = put.task, .file = std::move(file), .offset = piece.offset()}));
    watched.emplace(watch_, put.context);
    do {
      TRY(upload.append(piece.data()));
      watched->moved();
    } while (pieces.Read(&piece));
    watched.reset();
    TRY_ASSIGN(const ArtifactProgress stored, upload.finish());
    status.set_bytes(stored.bytes);
    status.set_complete(stored.complete);
    return ok();
  }

  const AgentCallbacks& callbacks_;
  IdleWatch& watch_;
  UploadPlaces places_;
  ConnectedAgents agents_;
};

// A peer that does not answer a ping within 20 s is gone; agents may ping as often as each 5 s.
void set_channel_options(grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(agent_message_bytes_max / 2);
  builder.SetMaxSendMessageSize(agent_message_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);  // a port in use is an error
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, streams_per_connection_max);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, handshake_millis);
  builder.SetResourceQuota(
      grpc::ResourceQuota("agent link").SetMaxThreads(transfers_max).Resize(unread_bytes_max));
  builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 1);
}

}  // namespace

struct AgentServer::Parts {
  Parts(AgentCallbacks given, Millis idle_limit)
      : callbacks(std::move(given)),
        watch(idle_limit),
        service(callbacks, watch),
        task_calls(callbacks, watch) {}

  const AgentCallbacks callbacks;
  IdleWatch watch;
  Service service;
  TaskCalls task_calls;
  std::string address;
  std::unique_ptr<grpc::Server> server;  // null once stopped
};

AgentServer::AgentServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

AgentServer::~AgentServer() { stop(); }

Result<std::unique_ptr<AgentServer>> AgentServer::listen(const AgentServerOptions& options,
                                                         AgentCallbacks callbacks) {
  const std::string& address = options.address;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) {
    return invalid("agent address \"" + address + "\" is not of the form host:port");
  }
  auto parts = std::make_unique<Parts>(std::move(callbacks), options.idle_limit);
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&parts->service);
  builder.RegisterCallbackGenericService(&parts->task_calls);
  set_channel_options(builder);
  parts->server = builder.BuildAndStart();
  if (!parts->server || port == 0) {
    return unavailable("cannot listen for agents on " + address + ": " +
                       why_not_listen_at(address));
  }
  parts->address = address.substr(0, colon) + ":" + std::to_string(port);
  return std::unique_ptr<AgentServer>(new AgentServer(std::move(parts)));
}

std::string AgentServer::address() const { return parts_->address; }

void AgentServer::send(const Assignment& assignment) {
  const AgentStart to{assignment.agent, assignment.instance, assignment.epoch};
  if (const auto stream = parts_->service.agents().find(to)) stream->send(to_proto(assignment));
}

void AgentServer::refuse(const Refusal& refusal) {
  const auto now = std::chrono::steady_clock::now();
  if (const auto left_out = parts_->service.agents().refusal_lines().take(now)) {
    log_warning("agent_refused", {{"agent", refusal.agent.text},
                                  {"instance", refusal.instance},
                                  {"epoch", refusal.epoch},
                                  {"why", refusal.why},
                                  {"left_out", *left_out}});
  }
  const AgentStart from{refusal.agent, refusal.instance, refusal.epoch};
  if (const auto stream = parts_->service.agents().find(from)) {
    const bool is_other = refusal.code == Code::conflict;
    stream->end({is_other ? grpc::StatusCode::ALREADY_EXISTS : grpc::StatusCode::RESOURCE_EXHAUSTED,
                 refusal.why});
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
