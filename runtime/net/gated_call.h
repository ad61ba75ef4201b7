// One call of a service that sends a message and is answered with one, on a completion queue. It is
// known by its metadata before anything of its message is read: who may not call is sent away then.
// The answer may be given later and on another thread.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "runtime/net/completion.h"
#include "schemas/base/result.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {

class GatedCall {
 public:
  using Stream = grpc::GenericServerAsyncReaderWriter;
  using Reply = std::function<void(Result<grpc::ByteBuffer>)>;
  using Handle = std::function<void(grpc::ByteBuffer&, Reply)>;
  struct Rules {
    // Asks the service for the next call; false, and nothing done, once no more are taken.
    std::function<bool(grpc::GenericServerContext*, Stream*, void* tag)> next;
    // What to do with the message of a call, or nothing and why not.
    std::function<std::pair<const Handle*, grpc::Status>(const grpc::GenericServerContext&)> route;
    std::function<bool()> may_go_on;  // the queue still takes operations
    // With a limit: a call whose message is not whole by then ends. The queue that its events are
    // on.
    grpc::CompletionQueue* queue = nullptr;
    std::chrono::milliseconds message_limit{0};  // 0: none
  };

  // Waits for a call, and for the next when it has come, until no more are taken. `rules` outlive
  // the queue.
  static void offer(const Rules& rules) {
    std::unique_ptr<GatedCall> call(new GatedCall(rules));
    if (rules.next(&call->context_, &call->stream_, &call->arrived_)) {
      call.release();  // the queue owns it now, and hands it back
    }
  }

 private:
  explicit GatedCall(const Rules& rules) : rules_(rules) {}

  void arrived(bool good) {
    if (!good) return end();
    offer(rules_);
    const auto [handle, refusal] = rules_.route(context_);
    handle_ = handle;
    if (!rules_.may_go_on()) return end();
    if (handle_ == nullptr) return stream_.Finish(refusal, &done_);
    stream_.Read(&request_, &read_);
    if (rules_.message_limit == rules_.message_limit.zero()) return;
    alarm_is_set_ = true;
    alarm_.Set(rules_.queue, std::chrono::system_clock::now() + rules_.message_limit, &late_);
  }

  void late(bool is_late) {
    alarm_is_set_ = false;
    if (has_ended_) return end();
    if (is_late) context_.TryCancel();
  }

  void message_read(bool good) {
    if (alarm_is_set_) alarm_.Cancel();
    if (!rules_.may_go_on()) return end();
    if (!good) return stream_.Finish(to_grpc(invalid("the call has no message")), &done_);
    (*handle_)(request_, [this](Result<grpc::ByteBuffer> reply) { answer(std::move(reply)); });
  }

  void answer(Result<grpc::ByteBuffer> reply) {
    if (!rules_.may_go_on()) return end();
    if (!reply.has_value()) return stream_.Finish(to_grpc(reply.error()), &done_);
    stream_.WriteAndFinish(*reply, grpc::WriteOptions(), grpc::Status::OK, &done_);
  }

  // The queue hands the alarm back, too.
  void end() {
    has_ended_ = true;
    if (!alarm_is_set_) delete this;
  }

  const Rules& rules_;
  const Handle* handle_ = nullptr;
  grpc::GenericServerContext context_;
  Stream stream_{&context_};
  grpc::ByteBuffer request_;
  grpc::Alarm alarm_;
  bool alarm_is_set_ = false;  // and has not come back
  bool has_ended_ = false;
  Completion arrived_{[this](bool good) { arrived(good); }};
  Completion read_{[this](bool good) { message_read(good); }};
  Completion late_{[this](bool good) { late(good); }};
  Completion done_{[this](bool) { end(); }};
};

// A handler of messages of one type that answers with another's.
template <class Request, class Response>
GatedCall::Handle handles(
    std::function<void(const Request&, std::function<void(Result<Response>)>)> handle) {
  return [handle = std::move(handle)](grpc::ByteBuffer& bytes, GatedCall::Reply reply) {
    Request request;
    if (!grpc::SerializationTraits<Request>::Deserialize(&bytes, &request).ok()) {
      return reply(invalid("the message is no " + Request::descriptor()->full_name()));
    }
    handle(request, [reply = std::move(reply)](Result<Response> response) {
      if (!response.has_value()) return reply(response.error());
      grpc::ByteBuffer answer;
      bool own_buffer = false;
      if (!grpc::SerializationTraits<Response>::Serialize(*response, &answer, &own_buffer).ok()) {
        return reply(internal("the answer is too large for one message"));
      }
      reply(std::move(answer));
    });
  };
}

}  // namespace trainyard::runtime
