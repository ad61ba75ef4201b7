// On a queue of their own, so that no data stream's events are among theirs.
#include "runtime/net/raw_calls.h"

#include <grpcpp/generic/generic_stub.h>

#include "schemas/base/check.h"
#include "schemas/wire/call_token.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

struct Call {
  grpc::ClientContext context;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;  // none: it was not made
  grpc::ByteBuffer reply;
  grpc::Status status;
};

}  // namespace

Result<std::vector<grpc::ByteBuffer>> call_each(const char* path, const std::vector<RawPeer>& ps,
                                                const std::vector<grpc::ByteBuffer>& requests,
                                                const RawCallTerms& terms) {
  const auto deadline = std::chrono::system_clock::now() + terms.deadline;
  ENSURE(ps.size() == requests.size());
  grpc::CompletionQueue queue;
  std::vector<Call> calls(requests.size());
  std::size_t left = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!requests[i].Valid()) continue;
    Call& call = calls[i];
    call.context.set_deadline(deadline);
    attach_token(call.context, terms.token);
    call.reader =
        grpc::GenericStub(ps[i].channel).PrepareUnaryCall(&call.context, path, requests[i], &queue);
    call.reader->StartCall();
    call.reader->Finish(&call.reply, &call.status, &call);
    ++left;
  }
  {
    const std::stop_callback on_stop(terms.stop, [&calls] {
      for (Call& call : calls) call.context.TryCancel();
    });
    void* tag = nullptr;
    bool good = false;
    for (; left > 0 && queue.Next(&tag, &good); --left) {
    }
  }
  queue.Shutdown();

  std::vector<grpc::ByteBuffer> replies(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (!calls[i].reader) continue;
    if (!calls[i].status.ok()) {
      const Error error = from_grpc(calls[i].status);
      return Error{error.code, ps[i].name + ": " + error.message};
    }
    replies[i] = calls[i].reply;
  }
  return replies;
}

}  // namespace trainyard::runtime
