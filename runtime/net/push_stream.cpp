// The stream lives until the completion queue owes it nothing more.
#include "runtime/net/push_stream.h"

#include <utility>

#include "runtime/net/frame.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {

PushStream::PushStream(PsServer& server)
    : server_(server),
      connected_{[this](bool good) { connected(good); }},
      ended_{[this](bool) { ended(); }},
      arrived_{[this](bool good) { frame_arrived(good); }},
      sent_{[this](bool good) { frame_sent(good); }},
      closed_{[this](bool) { operation_done(); }} {}

void PushStream::offer(PsServer& server) {
  const auto stream = std::make_shared<PushStream>(server);
  stream->self_ = stream;
  stream->context_.AsyncNotifyWhenDone(&stream->ended_);
  server.service_.RequestPushPull(&stream->context_, &stream->stream_, server.queue_.get(),
                                  server.queue_.get(), &stream->connected_);
}

void PushStream::connected(bool good) {
  std::shared_ptr<PushStream> self = std::move(self_);
  if (!good) return;  // the server is shutting down: no call came, and none will end
  operations_ = 1;    // that the call has ended
  server_.offer_stream();
  if (const grpc::Status refusal = server_.check_caller(context_); !refusal.ok()) {
    self_ = std::move(self);  // nobody else knows of it
    return end(refusal);
  }
  server_.opened(self);
  read();
}

void PushStream::ended() { operation_done(); }

void PushStream::read() {
  if (!server_.queue_open_) return;
  ++operations_;
  incoming_.Clear();
  stream_.Read(&incoming_, &arrived_);
}

void PushStream::frame_arrived(bool good) {
  if (good) {
    handle(incoming_);
  } else {
    end(grpc::Status::OK);  // the caller has ended the stream, or is gone
  }
  operation_done();
}

void PushStream::handle(const grpc::ByteBuffer& bytes) {
  auto frame = decode_push(bytes);
  if (!frame.has_value()) return end(to_grpc(frame.error()));
  auto answer = [stream = weak_from_this()](Result<Answer> given) {
    if (const auto alive = stream.lock()) alive->reply(std::move(given));
  };
  const Status taken =
      server_.take(*this, frame->header, std::move(frame->payload), std::move(answer));
  if (!taken.has_value()) end(to_grpc(taken.error()));
}

void PushStream::reply(Result<Answer> answer) {
  if (!answer.has_value()) return end(to_grpc(answer.error()));
  if (!server_.queue_open_) return;
  ++operations_;
  stream_.Write(encode_frame(pull_frame_of(*answer, wanted), parameters_of(*answer, wanted)),
                &sent_);
}

void PushStream::frame_sent(bool good) {
  if (good) read();
  operation_done();
}

void PushStream::end(const grpc::Status& status) {
  if (!server_.queue_open_) return;
  ++operations_;
  stream_.Finish(status, &closed_);
}

void PushStream::operation_done() {
  if (--operations_ > 0) return;
  const std::shared_ptr<PushStream> refused = std::move(self_);
  if (!refused) server_.closed(*this, !context_.IsCancelled());
}

}  // namespace trainyard::runtime
