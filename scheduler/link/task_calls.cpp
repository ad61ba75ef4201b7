#include "scheduler/link/task_calls.h"

#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <optional>
#include <utility>

#include "schemas/proto/agent.grpc.pb.h"
#include "schemas/wire/agent_codec.h"
#include "schemas/wire/call_token.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::scheduler {
namespace {

constexpr std::size_t piece_bytes = 1 << 20;

template <class Message>
Result<Message> parsed(grpc::ByteBuffer& bytes) {
  Message message;
  if (grpc::SerializationTraits<Message>::Deserialize(&bytes, &message).ok()) return message;
  return invalid("the message is no " + Message::descriptor()->full_name());
}

template <class Message>
grpc::ByteBuffer bytes_of(const Message& message) {
  grpc::ByteBuffer bytes;
  bool own_buffer = false;
  static_cast<void>(grpc::SerializationTraits<Message>::Serialize(message, &bytes, &own_buffer));
  return bytes;
}

// One call: a message in, one or, of a file, many out. Lives until gRPC is done with it.
class TaskCall : public grpc::ServerGenericBidiReactor {
 public:
  TaskCall(grpc::GenericCallbackServerContext& context, const AgentCallbacks& callbacks,
           IdleWatch& watch)
      : callbacks_(callbacks), watched_(watch, context) {}

  void begin(TaskKey task) {
    task_ = std::move(task);
    StartRead(&request_);
  }

  void OnReadDone(bool ok) final {
    if (!ok) return Finish(to_grpc(invalid("the call has no message")));
    watched_.moved();
    if (const Status taken = take(request_); !taken) Finish(to_grpc(taken.error()));
  }

  void OnWriteDone(bool ok) final {
    watched_.moved();
    go_on(ok);
  }

  void OnDone() final { delete this; }

 protected:
  // Answers, or begins to; an error is the answer.
  virtual Status take(grpc::ByteBuffer& request) = 0;
  virtual void go_on(bool /*written*/) {}

  template <class Message>
  Status answer(const Message& message) {
    reply_ = bytes_of(message);
    StartWriteAndFinish(&reply_, grpc::WriteOptions(), grpc::Status::OK);
    return ok();
  }

  const AgentCallbacks& callbacks_;
  TaskKey task_;
  grpc::ByteBuffer reply_;

 private:
  IdleWatch::Call watched_;
  grpc::ByteBuffer request_;
};

class AppendLogCall final : public TaskCall {
  using TaskCall::TaskCall;

  Status take(grpc::ByteBuffer& request) override {
    TRY_ASSIGN(const auto piece, parsed<proto::LogPiece>(request));
    TRY_ASSIGN(
        const std::int64_t end,
        callbacks_.append_log({.task = task_, .offset = piece.offset(), .data = piece.data()}));
    proto::LogStored stored;
    stored.set_end(end);
    return answer(stored);
  }
};

class FindArtifactCall final : public TaskCall {
  using TaskCall::TaskCall;

  Status take(grpc::ByteBuffer& request) override {
    TRY_ASSIGN(const auto query, parsed<proto::ArtifactQuery>(request));
    if (query.job() != task_.job.text) {
      return invalid("job: " + to_string(task_) + " may not ask for files of " + query.job());
    }
    TRY_ASSIGN(const ArtifactProgress found, callbacks_.find_artifact(task_.job, query.sha256()));
    proto::ArtifactStatus status;
    status.set_bytes(found.bytes);
    status.set_complete(found.complete);
    return answer(status);
  }
};

class GetArtifactCall final : public TaskCall {
  using TaskCall::TaskCall;

  Status take(grpc::ByteBuffer& request) override {
    TRY_ASSIGN(const auto query, parsed<proto::ArtifactQuery>(request));
    if (query.offset() < 0) return invalid("offset must be 0 or more");
    TRY_ASSIGN(read_, callbacks_.open_artifact({task_, JobId{query.job()}, query.sha256()}));
    offset_ = query.offset();
    go_on(true);
    return ok();
  }

  void go_on(bool written) override {
    if (!written) return Finish(to_grpc(unavailable("the agent went away")));
    proto::ArtifactPiece piece;
    std::string& data = *piece.mutable_data();
    data.resize(piece_bytes);
    const auto count = read_(offset_, data);
    if (!count) return Finish(to_grpc(count.error()));
    if (*count == 0) return Finish(grpc::Status::OK);
    data.resize(*count);
    piece.set_offset(offset_);
    offset_ += static_cast<std::int64_t>(*count);
    reply_ = bytes_of(piece);
    StartWrite(&reply_);
  }

  ReadArtifact read_;
  std::int64_t offset_ = 0;
};

// Says one thing and is gone.
class RefusedCall final : public grpc::ServerGenericBidiReactor {
 public:
  explicit RefusedCall(const grpc::Status& why) { Finish(why); }
  void OnDone() override { delete this; }
};

}  // namespace

Admission admit_call(const grpc::ServerContextBase& call, const AgentCallbacks& callbacks) {
  auto caller = read_call_token(call);
  if (!caller || !callbacks.is_token_of(caller->task, caller->token)) {
    return {{}, unauthenticated("the call does not carry the token of the task that it is for")};
  }
  const Status admitted = callbacks.admit(caller->task);
  if (!admitted) return {{}, to_grpc(admitted.error())};
  return {std::move(caller->task), grpc::Status::OK};
}

grpc::ServerGenericBidiReactor* TaskCalls::CreateReactor(
    grpc::GenericCallbackServerContext* context) {
  constexpr std::string_view service = "/trainyard.proto.AgentLink/";
  std::string_view method = context->method();
  method.remove_prefix(method.starts_with(service) ? service.size() : 0);
  const bool is_known =
      method == "AppendLog" || method == "FindArtifact" || method == "GetArtifact";
  if (!is_known) {
    return new RefusedCall({grpc::StatusCode::UNIMPLEMENTED, "there is no such call"});
  }
  Admission admission = admit_call(*context, callbacks_);
  if (!admission.refusal.ok()) return new RefusedCall(admission.refusal);
  TaskCall* call = nullptr;
  if (method == "AppendLog") call = new AppendLogCall(*context, callbacks_, watch_);
  if (method == "FindArtifact") call = new FindArtifactCall(*context, callbacks_, watch_);
  if (method == "GetArtifact") call = new GetArtifactCall(*context, callbacks_, watch_);
  call->begin(std::move(admission.task));
  return call;
}

}  // namespace trainyard::scheduler
