// The stream lives until the completion queue owes it nothing more.
#include "runtime/net/push_stream.h"

#include <string>
#include <utility>

#include "runtime/net/frame.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

constexpr std::int64_t kExamplesMax = std::int64_t{1} << 40;  // of one batch

Push push_of(Frame<proto::PushFrame> frame) {
  return {.rank = frame.header.rank(),
          .step = frame.header.step(),
          .base_version = frame.header.base_version(),
          .sums = {.examples = frame.header.examples(),
                   .loss_sum = frame.header.loss_sum(),
                   .correct = frame.header.correct()},
          .snapshot_step = frame.header.snapshot_step(),
          .gradient = std::move(frame.payload)};
}

grpc::ByteBuffer frame_of(const Answer& answer) {
  proto::PullFrame header;
  header.set_version(answer.version);
  header.set_staleness(answer.sums.staleness);
  header.set_rank_step(answer.rank_step);
  header.set_examples(answer.sums.examples);
  header.set_loss_sum(answer.sums.loss_sum);
  header.set_correct(answer.sums.correct);
  return encode_frame(header,
                      {.pieces = {std::as_bytes(answer.weights->span())}, .owner = answer.weights});
}

}  // namespace

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
  const std::shared_ptr<PushStream> self = std::move(self_);
  if (!good) return;  // the server is shutting down: no call came, and none will end
  operations_ = 1;    // that the call has ended
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
  const proto::PushFrame& header = frame->header;
  if (const Status token = server_.check_token(header.token()); !token.has_value()) {
    return end(to_grpc(token.error()));
  }
  if (rank_ < 0) {
    rank_ = header.rank();
    server_.bound(*this, rank_);
  }
  if (header.rank() != rank_) return end(to_grpc(invalid("the rank of a stream never changes")));

  auto answer = [stream = weak_from_this()](Result<Answer> given) {
    if (const auto alive = stream.lock()) alive->reply(std::move(given));
  };
  if (header.examples() == 0) {
    server_.aggregator_.pull(rank_, header.step(), std::move(answer));
  } else if (header.examples() < 0 || header.examples() > kExamplesMax) {
    end(to_grpc(invalid("examples must be 0 to " + std::to_string(kExamplesMax))));
  } else {
    server_.aggregator_.push(push_of(std::move(*frame)), std::move(answer));
  }
}

void PushStream::reply(Result<Answer> answer) {
  if (!answer.has_value()) return end(to_grpc(answer.error()));
  if (!server_.queue_open_) return;
  ++operations_;
  stream_.Write(frame_of(*answer), &sent_);
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
  if (--operations_ == 0) server_.closed(*this);
}

}  // namespace trainyard::runtime
