#include "runtime/net/control_calls.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "schemas/wire/call_token.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

using std::chrono::system_clock;

constexpr std::chrono::seconds kFinishLimit{10};

Status copy_floats(const char* what, const std::string& data, std::span<float> out) {
  if (data.size() != out.size_bytes()) {
    return invalid(std::string(what) + " of " + std::to_string(data.size()) + " bytes, not " +
                   std::to_string(out.size_bytes()));
  }
  if (!out.empty()) std::memcpy(out.data(), data.data(), out.size_bytes());
  return ok();
}

}  // namespace

Result<proto::PsStatus> describe_ps(proto::Params::Stub& ps, const proto::Caller& caller,
                                    std::chrono::milliseconds limit, const std::stop_token& stop) {
  grpc::ClientContext context;
  attach_token(context, caller.token());
  context.set_wait_for_ready(true);
  context.set_deadline(system_clock::now() + limit);
  const std::stop_callback on_stop(stop, [&context] { context.TryCancel(); });
  proto::PsStatus status;
  if (const auto answer = ps.Describe(&context, caller, &status); !answer.ok()) {
    return from_grpc(answer);
  }
  return status;
}

Status read_residual(proto::Params::Stub& ps, const proto::Caller& caller, std::int64_t leaf,
                     std::chrono::milliseconds limit, std::span<float> out) {
  proto::ResidualRequest request;
  *request.mutable_caller() = caller;
  request.set_leaf(leaf);
  grpc::ClientContext context;
  attach_token(context, caller.token());
  context.set_deadline(system_clock::now() + limit);
  proto::ResidualReply reply;
  if (const auto answer = ps.Residual(&context, request, &reply); !answer.ok()) {
    return from_grpc(answer);
  }
  return copy_floats("a residual", reply.data(), out);
}

Status read_snapshot_weights(proto::Params::Stub& ps, const proto::Caller& caller,
                             std::int64_t step, std::chrono::milliseconds limit,
                             std::span<float> out) {
  proto::SnapshotRequest request;
  *request.mutable_caller() = caller;
  request.set_step(step);
  grpc::ClientContext context;
  attach_token(context, caller.token());
  context.set_deadline(system_clock::now() + limit);
  proto::SnapshotWeights reply;
  if (const auto answer = ps.ReadSnapshot(&context, request, &reply); !answer.ok()) {
    return from_grpc(answer);
  }
  return copy_floats("weights", reply.data(), out);
}

Status say_finished(proto::Params::Stub& ps, const proto::Caller& caller,
                    std::chrono::milliseconds patience) {
  grpc::ClientContext context;
  attach_token(context, caller.token());
  context.set_wait_for_ready(patience > patience.zero());
  context.set_deadline(system_clock::now() +
                       std::max<std::chrono::milliseconds>(patience, kFinishLimit));
  proto::PsStatus status;
  if (const auto answer = ps.Finish(&context, caller, &status); !answer.ok()) {
    return from_grpc(answer);
  }
  return ok();
}

}  // namespace trainyard::runtime
