// The control calls of a ps: each is answered by itself, on a channel of its own.
#include <utility>

#include "runtime/net/frame.h"
#include "runtime/net/ps_server.h"
#include "runtime/net/push_of.h"
#include "runtime/net/stream_port.h"
#include "runtime/net/unary_call.h"

namespace trainyard::runtime {
namespace {

// A message none of whose fields is set is of no bytes, whatever its type: an InheritReply too.
grpc::ByteBuffer no_words() { return encode_frame(proto::PullFrame(), {}); }

}  // namespace

void PsServer::offer_control() {
  using Describe = UnaryCall<proto::Caller, proto::PsStatus>;
  offer_calls<Describe>(&ParamsService::RequestDescribe,
                        [this](const proto::Caller& caller, const Describe::Reply& reply) {
                          reply(describe(caller));
                        });
  offer_calls<Describe>(
      &ParamsService::RequestFinish,
      [this](const proto::Caller& caller, const Describe::Reply& reply) { reply(finish(caller)); });

  using ReadResidual = UnaryCall<proto::ResidualRequest, proto::ResidualReply>;
  offer_calls<ReadResidual>(&ParamsService::RequestResidual,
                            [this](const proto::ResidualRequest& request,
                                   const ReadResidual::Reply& reply) { reply(residual(request)); });

  using Inherit = UnaryCall<grpc::ByteBuffer, grpc::ByteBuffer>;
  offer_calls<Inherit>(&ParamsService::RequestInherit,
                       [this](const grpc::ByteBuffer& request, const Inherit::Reply& reply) {
                         const Status taken = inherit(request);
                         if (!taken.has_value()) return reply(taken.error());
                         reply(no_words());
                       });

  using TakeSnapshot = UnaryCall<proto::SnapshotRequest, proto::SnapshotReply>;
  offer_calls<TakeSnapshot>(
      &ParamsService::RequestSnapshot,
      [this](const proto::SnapshotRequest& request, TakeSnapshot::Reply reply) {
        snapshot(request, std::move(reply));
      });
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
