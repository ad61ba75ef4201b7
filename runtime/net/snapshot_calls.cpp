// On a queue of their own and not by callbacks: gRPC's callback threads would poll the data streams
// too, and take events away from the thread that waits for parameters.
#include "runtime/net/snapshot_calls.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>

#include "schemas/wire/call_token.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

constexpr std::chrono::minutes kDiskLimit{10};

struct Call {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<proto::SnapshotReply>> reader;
  proto::SnapshotReply reply;
  grpc::Status status;
};

Result<WrittenShard> shard_of(const Call& call) {
  if (!call.status.ok()) return from_grpc(call.status);
  const proto::SnapshotReply& reply = call.reply;
  return WrittenShard{
      .file = {.name = reply.name(), .bytes = reply.bytes(), .sha256 = reply.sha256()},
      .version = reply.version(),
      .rank_steps = {reply.rank_steps().begin(), reply.rank_steps().end()}};
}

}  // namespace

std::vector<Result<WrittenShard>> take_snapshots(std::span<proto::Params::Stub* const> ps,
                                                 const proto::SnapshotRequest& request,
                                                 std::chrono::milliseconds training_limit,
                                                 const std::stop_token& stop) {
  grpc::CompletionQueue queue;
  std::vector<Call> calls(ps.size());
  for (std::size_t i = 0; i < ps.size(); ++i) {
    Call& call = calls[i];
    attach_token(call.context, request.caller().token());
    call.context.set_deadline(std::chrono::system_clock::now() + training_limit + kDiskLimit);
    call.reader = ps[i]->AsyncSnapshot(&call.context, request, &queue);
    call.reader->Finish(&call.reply, &call.status, &call);
  }
  {
    const std::stop_callback on_stop(stop, [&calls] {
      for (Call& call : calls) call.context.TryCancel();
    });
    void* tag = nullptr;
    bool good = false;
    for (std::size_t left = calls.size(); left > 0 && queue.Next(&tag, &good); --left) {
    }
  }
  queue.Shutdown();

  std::vector<Result<WrittenShard>> shards;
  for (const Call& call : calls) shards.push_back(shard_of(call));
  return shards;
}

}  // namespace trainyard::runtime
