// The loop of a ps and its control calls.
#include "runtime/net/ps_server.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "runtime/net/channel_options.h"
#include "runtime/net/completion.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/push_stream.h"
#include "runtime/net/unary_call.h"
#include "schemas/base/log.h"

namespace trainyard::runtime {
namespace {

// How often the loop looks at the stop token and at the clock when nothing happens.
constexpr std::chrono::milliseconds kLookUp{100};
// What is still open when a ps ends: after the last step workers may be in the middle of a gradient
// that comes too late, and are told so; a ps that is stopped has nothing to tell.
constexpr std::chrono::seconds kFinishedLimit{10};
constexpr std::chrono::seconds kStoppedLimit{1};
constexpr std::chrono::milliseconds kDrainStep{5};

}  // namespace

Result<std::unique_ptr<PsServer>> PsServer::start(PsServerOptions options, Parts parts) {
  std::unique_ptr<PsServer> server(new PsServer(std::move(options), std::move(parts)));
  TRY(server->listen());
  return server;
}

PsServer::PsServer(PsServerOptions options, Parts parts)
    : options_(std::move(options)),
      desk_(std::make_unique<SnapshotDesk>(std::move(parts.files))),
      aggregator_(std::move(parts.rules), std::move(parts.shard), std::move(parts.start),
                  [this](Snapshot snapshot) {
                    if (desk_) desk_->take(std::move(snapshot));
                  }),
      local_socket_(new_local_socket_name()) {}

PsServer::~PsServer() { drain(); }

Status PsServer::listen() {
  grpc::ServerBuilder builder;
  configure_server(builder, aggregator_.elements());
  int local_port = 0;
  builder.AddListeningPort(options_.listen, grpc::InsecureServerCredentials(), &port_);
  builder.AddListeningPort(local_socket_address(local_socket_), grpc::InsecureServerCredentials(),
                           &local_port);
  builder.RegisterService(&service_);
  queue_ = builder.AddCompletionQueue();
  server_ = builder.BuildAndStart();
  if (!server_ || port_ == 0) return unavailable("cannot listen on " + options_.listen);
  offer_stream();
  offer_control();
  return ok();
}

void PsServer::offer_stream() {
  if (accepting_) PushStream::offer(*this);
}

void PsServer::offer_control() {
  using Describe = UnaryCall<proto::Caller, proto::PsStatus>;
  Describe::offer(
      [this](auto* context, auto* request, auto* responder, void* tag) {
        if (!accepting_) return false;
        service_.RequestDescribe(context, request, responder, queue_.get(), queue_.get(), tag);
        return true;
      },
      [this](const proto::Caller& caller, const Describe::Reply& reply) {
        reply(describe(caller));
      });
  Describe::offer(
      [this](auto* context, auto* request, auto* responder, void* tag) {
        if (!accepting_) return false;
        service_.RequestFinish(context, request, responder, queue_.get(), queue_.get(), tag);
        return true;
      },
      [this](const proto::Caller& caller, const Describe::Reply& reply) { reply(finish(caller)); });

  using TakeSnapshot = UnaryCall<proto::SnapshotRequest, proto::SnapshotReply>;
  TakeSnapshot::offer(
      [this](auto* context, auto* request, auto* responder, void* tag) {
        if (!accepting_) return false;
        service_.RequestSnapshot(context, request, responder, queue_.get(), queue_.get(), tag);
        return true;
      },
      [this](const proto::SnapshotRequest& request, TakeSnapshot::Reply reply) {
        snapshot(request, std::move(reply));
      });
}

Result<PsServer::Ended> PsServer::serve(const std::stop_token& stop) {
  lonely_since_ = Clock::now();
  while (!over()) {
    const bool busy = handle_next(kLookUp);
    if (stop.stop_requested()) return Ended::stopped;
    if (busy || finished_) continue;
    const auto limit = had_callers_ ? options_.no_caller_limit : options_.first_caller_limit;
    if (streams_.empty() && Clock::now() - lonely_since_ > limit) {
      return unavailable(had_callers_ ? "all workers are gone" : "no worker ever came");
    }
  }
  return Ended::finished;
}

bool PsServer::over() const {
  return finished_ && (aggregator_.all_told() || Clock::now() >= end_by_);
}

bool PsServer::handle_next(std::chrono::milliseconds wait) {
  void* tag = nullptr;
  bool good = false;
  const auto deadline = std::chrono::system_clock::now() + wait;
  if (queue_->AsyncNext(&tag, &good, deadline) != grpc::CompletionQueue::GOT_EVENT) return false;
  static_cast<Completion*>(tag)->done(good);
  return true;
}

void PsServer::drain() {
  if (!server_) return;
  accepting_ = false;
  desk_.reset();  // answers who waits for a shard, while the queue still takes answers

  // Calls in progress end while the queue is served; what is left after the limit is cancelled.
  std::atomic<bool> down = false;
  const std::jthread shutdown([this, &down] {
    const auto limit = finished_ ? kFinishedLimit : kStoppedLimit;
    server_->Shutdown(std::chrono::system_clock::now() + limit);
    down = true;
  });
  while (!down) handle_next(kDrainStep);

  queue_open_ = false;
  queue_->Shutdown();
  void* tag = nullptr;
  bool good = false;
  while (queue_->Next(&tag, &good)) static_cast<Completion*>(tag)->done(good);
}

Status PsServer::check_token(const std::string& token) const {
  if (token == options_.token) return ok();
  return conflict("the token is not that of this attempt");
}

Result<proto::PsStatus> PsServer::describe(const proto::Caller& caller) const {
  TRY(check_token(caller.token()));
  proto::PsStatus status;
  status.set_version(aggregator_.version());
  status.set_elements(aggregator_.elements());
  status.set_local_socket(local_socket_);
  return status;
}

Result<proto::PsStatus> PsServer::finish(const proto::Caller& caller) {
  TRY_ASSIGN(proto::PsStatus status, describe(caller));
  if (!finished_) end_by_ = Clock::now() + options_.late_caller_limit;
  finished_ = true;
  return status;
}

void PsServer::snapshot(const proto::SnapshotRequest& request,
                        std::function<void(Result<proto::SnapshotReply>)> reply) {
  if (Status token = check_token(request.caller().token()); !token.has_value()) {
    return reply(token.error());
  }
  if (!desk_) return reply(unavailable("the ps is ending"));
  if (request.step() < 0) return reply(invalid("step must be 0 or more"));
  if (!desk_->knows(request.step())) aggregator_.snapshot_at(request.step());
  desk_->when_written({.step = request.step(),
                       .keep_steps = {request.keep_steps().begin(), request.keep_steps().end()}},
                      [reply = std::move(reply)](Result<WrittenShard> shard) {
                        if (!shard.has_value()) return reply(shard.error());
                        proto::SnapshotReply message;
                        message.set_version(shard->version);
                        message.set_name(shard->file.name);
                        message.set_bytes(shard->file.bytes);
                        message.set_sha256(shard->file.sha256);
                        for (const std::int64_t step : shard->rank_steps)
                          message.add_rank_steps(step);
                        reply(std::move(message));
                      });
}

void PsServer::opened(std::shared_ptr<PushStream> stream) {
  offer_stream();
  had_callers_ = true;
  const PushStream* const key = stream.get();
  streams_.emplace(key, std::move(stream));
}

void PsServer::bound(const PushStream& stream, std::int64_t rank) {
  stream_of_rank_[rank] = &stream;
}

void PsServer::closed(const PushStream& stream) {
  const auto newest = stream_of_rank_.find(stream.rank());
  if (newest != stream_of_rank_.end() && newest->second == &stream) {
    stream_of_rank_.erase(newest);
    if (!stream.ended_well()) {
      log_warning("worker lost", {{"rank", stream.rank()}, {"version", aggregator_.version()}});
      aggregator_.lose(stream.rank(),
                       "the worker of rank " + std::to_string(stream.rank()) + " is gone");
    }
  }
  streams_.erase(&stream);  // frees it
  if (streams_.empty()) lonely_since_ = Clock::now();
}

}  // namespace trainyard::runtime
