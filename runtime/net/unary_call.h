// One unary call of a service on a completion queue: waits for a caller, has it answered, offers
// itself anew. The answer may be given later and on another thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <utility>

#include "runtime/net/completion.h"
#include "schemas/base/result.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {

template <class Request, class Response>
class UnaryCall {
 public:
  using Responder = grpc::ServerAsyncResponseWriter<Response>;
  // Calls the generated RequestX of the service; false, and nothing done, once the queue is
  // closing.
  using Offer = std::function<bool(grpc::ServerContext*, Request*, Responder*, void* tag)>;
  using Reply = std::function<void(Result<Response>)>;
  using Handle = std::function<void(const Request&, Reply)>;

  static bool offer(Offer offer, Handle handle) {
    std::unique_ptr<UnaryCall> call(new UnaryCall(std::move(offer), std::move(handle)));
    if (!call->offer_(&call->context_, &call->request_, &call->responder_, &call->arrived_)) {
      return false;
    }
    call.release();  // the queue owns it now, and hands it back to arrived() or answered()
    return true;
  }

 private:
  UnaryCall(Offer offer, Handle handle) : offer_(std::move(offer)), handle_(std::move(handle)) {}

  void arrived(bool good) {
    if (!good || !offer(offer_, handle_)) {
      delete this;
      return;
    }
    handle_(request_, [this](Result<Response> response) {
      if (response.has_value()) {
        responder_.Finish(*response, grpc::Status::OK, &answered_);
      } else {
        responder_.FinishWithError(to_grpc(response.error()), &answered_);
      }
    });
  }

  Offer offer_;
  Handle handle_;
  grpc::ServerContext context_;
  Request request_;
  Responder responder_{&context_};
  Completion arrived_{[this](bool good) { arrived(good); }};
  Completion answered_{[this](bool) { delete this; }};
};

}  // namespace trainyard::runtime
