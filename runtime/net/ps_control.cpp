// The control calls of a ps: each is answered by itself, on a channel of its own.
#include <string_view>
#include <utility>

#include "runtime/net/frame.h"
#include "runtime/net/ps_server.h"
#include "runtime/net/push_of.h"
#include "runtime/net/stream_port.h"

namespace trainyard::runtime {
namespace {

constexpr std::string_view service_path = "/trainyard.proto.Params/";

// A message none of whose fields is set is of no bytes, whatever its type: an InheritReply too.
grpc::ByteBuffer no_words() { return encode_frame(proto::PullFrame(), {}); }

}  // namespace

void PsServer::offer_control() {
  using proto::Caller, proto::PsStatus, proto::ResidualRequest, proto::ResidualReply,
      proto::SnapshotRequest, proto::SnapshotReply;
  handles_["Describe"] = handles<Caller, PsStatus>(
      [this](const Caller& caller, const auto& reply) { reply(describe(caller)); });
  handles_["Finish"] = handles<Caller, PsStatus>(
      [this](const Caller& caller, const auto& reply) { reply(finish(caller)); });
  handles_["Residual"] = handles<ResidualRequest, ResidualReply>(
      [this](const ResidualRequest& request, const auto& reply) { reply(residual(request)); });
  handles_["ReadSnapshot"] = handles<SnapshotRequest, proto::SnapshotWeights>(
      [this](const SnapshotRequest& request, const auto& reply) { reply(weights(request)); });
  handles_["Snapshot"] = handles<SnapshotRequest, SnapshotReply>(
      [this](const SnapshotRequest& request, auto reply) { snapshot(request, std::move(reply)); });
  handles_["Inherit"] = [this](const grpc::ByteBuffer& request, const GatedCall::Reply& reply) {
    const Status taken = inherit(request);
    if (!taken.has_value()) return reply(taken.error());
    reply(no_words());
  };
}

void PsServer::offer_calls() {
  call_rules_.next = [this](auto* context, auto* stream, void* tag) {
    if (!accepting_) return false;
    generic_service_.RequestCall(context, stream, queue_.get(), queue_.get(), tag);
    return true;
  };
  call_rules_.route = [this](const grpc::GenericServerContext& context) {
    using Route = std::pair<const GatedCall::Handle*, grpc::Status>;
    if (grpc::Status refusal = check_caller(context); !refusal.ok()) return Route(nullptr, refusal);
    std::string_view method = context.method();
    method.remove_prefix(method.starts_with(service_path) ? service_path.size() : 0);
    const auto found = handles_.find(method);
    if (found != handles_.end()) return Route(&found->second, grpc::Status::OK);
    return Route(nullptr, {grpc::StatusCode::UNIMPLEMENTED, "there is no such call"});
  };
  call_rules_.may_go_on = [this] { return queue_open_; };
  GatedCall::offer(call_rules_);
}

Result<proto::PsStatus> PsServer::describe(const proto::Caller& caller) {
  TRY(check_token(caller.token()));
  if (caller.seen() > 0) {
    aggregator_.see(caller.rank(), caller.seen());
    note_return();
  }
  proto::PsStatus status;
  status.set_version(aggregator_.version());
  status.set_elements(aggregator_.elements());
  status.set_local_socket(local_socket_);
  status.set_shared_socket(shared_socket_);
  status.set_encoding(gradient_encoding(aggregator_.wire()));
  status.set_residual_leaves(aggregator_.residual_leaves());
  status.set_rank_step(aggregator_.rank_step(caller.rank()));
  status.set_pools_rows(pools_rows_);
  status.set_incarnation(incarnation_);
  for (const std::int64_t count : aggregator_.dropped_by_rank()) status.add_dropped(count);
  if (const auto& broken = aggregator_.broken()) status.set_over(broken->message);
  if (stream_port_) {
    status.set_stream_socket(stream_port_->unix_socket());
    status.set_stream_port(stream_port_->tcp_port());
  }
  return status;
}

Result<proto::ResidualReply> PsServer::residual(const proto::ResidualRequest& request) const {
  TRY(check_token(request.caller().token()));
  TRY_ASSIGN(const auto residual, aggregator_.residual_of(request.leaf()));
  const auto bytes = std::as_bytes(residual->values.span());
  proto::ResidualReply reply;
  reply.set_data(bytes.data(), bytes.size());
  return reply;
}

Result<proto::SnapshotWeights> PsServer::weights(const proto::SnapshotRequest& request) const {
  TRY(check_token(request.caller().token()));
  if (!desk_) return unavailable("the ps is ending");
  TRY_ASSIGN(const Weights weights, desk_->newest_weights(request.step()));
  const auto bytes = std::as_bytes(weights->span());
  proto::SnapshotWeights reply;
  reply.set_data(bytes.data(), bytes.size());
  return reply;
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
  if (!aggregator_.takes_part_in(request.step())) {
    return reply(unavailable("the ps was started again since checkpoint " +
                             std::to_string(request.step()) + " began"));
  }
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

Status PsServer::inherit(const grpc::ByteBuffer& request) {
  TRY_ASSIGN(Frame<proto::PushFrame> frame, decode_push(request));
  TRY(check_token(frame.header.token()));
  TRY(check_encodings(frame.header));
  TRY(check_counts(frame.header));
  return aggregator_.inherit(push_of(frame.header, std::move(frame.payload)));
}

}  // namespace trainyard::runtime
