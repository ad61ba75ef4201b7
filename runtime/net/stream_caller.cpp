// What a frame says is checked when its header is there, so a caller that has no business here gets
// no memory.
#include "runtime/net/stream_caller.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/net/frame.h"
#include "runtime/net/large_buffer.h"
#include "runtime/net/ps_server.h"
#include "runtime/net/stream_port.h"
#include "runtime/net/tail_pieces.h"
#include "schemas/base/utf8.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

constexpr std::chrono::seconds kHelloLimit{10};
constexpr std::chrono::seconds kLeavingLimit{5};
constexpr std::size_t kMessageBytesMax = 2000;  // of a refusal: its header has a bound
constexpr std::chrono::seconds kRefusalLimit{30};
// Of parameters that go ahead of an answer, in a frame: fewer are not worth one, and for more the
// answer is not to wait. Measured, push-pull of 1 MiB by TCP: 256 KiB are a little better than half
// or twice of it.
constexpr std::int64_t kTailBytesMin = 256 << 10;
constexpr std::int64_t kTailBytesMax = 4 << 20;
static_assert(kTailBytesMin >= frame_staging_bytes, "no frame after it is read with its head");

}  // namespace

StreamCaller::StreamCaller(StreamSocket from, StreamPort& port, PsServer& server)
    : socket(std::move(from)), port_(&port), server_(server), due_(Clock::now() + kHelloLimit) {}

void StreamCaller::answer(const Result<Answer>& given) {
  if (!given.has_value()) return refuse(given.error());
  if (port_ == nullptr || refused_) return;
  proto::StreamPull pull;
  *pull.mutable_frame() = pull_frame_of(*given, wanted);
  Payload parameters = parameters_of(*given, wanted);
  if (const std::int64_t ahead = bytes_ahead_of(*given); ahead > 0) {
    auto& bytes = parameters.pieces.front();
    bytes = bytes.first(bytes.size() - static_cast<std::size_t>(ahead));
    pull.set_bytes_ahead(static_cast<std::uint64_t>(ahead));
  }
  no_more_tails();
  given_.emplace(std::move(pull), std::move(parameters));
  port_->ready_.push_back(shared_from_this());
  port_->ring();
}

// None where the answer is of another step than the one that they are of.
std::int64_t StreamCaller::bytes_ahead_of(const Answer& given) const {
  if (!tail_ || given.weights != tail_->weights) return 0;
  return (std::ssize(tail_->weights->span()) - ahead_from_) * float_bytes;
}

void StreamCaller::no_more_tails() {
  takes_tails_ = false;
  tail_.reset();
}

void StreamCaller::offer(const Aggregator::Tail& tail) {
  if (port_ == nullptr || refused_ || !takes_tails_) return;
  tail_ = tail;
  port_->ready_.push_back(shared_from_this());
  port_->ring();
}

void StreamCaller::refuse(const Error& error) {
  if (port_ == nullptr || refused_) return;
  proto::StreamPull pull;
  pull.set_status(static_cast<int>(to_grpc(error).error_code()));
  pull.set_message(to_valid_utf8(error.message.substr(0, kMessageBytesMax)));
  refused_ = true;
  no_more_tails();
  given_.emplace(std::move(pull), Payload());
  port_->ready_.push_back(shared_from_this());
  port_->ring();
}

bool StreamCaller::start_next() {
  if (!out.sent()) return false;
  if (!given_) return start_tail();
  out.start(given_->first, std::move(given_->second));
  given_.reset();
  state = State::answering;
  return true;
}

// What has been updated since the last one. Nothing for who does not read: its socket would be
// full, and is given up when it stays so.
bool StreamCaller::start_tail() {
  if (!tail_ || computes_) return false;
  const std::int64_t from = std::max(tail_->from, ahead_from_ - kTailBytesMax / float_bytes);
  if ((ahead_from_ - from) * float_bytes < kTailBytesMin) return false;
  const auto elements = tail_->weights->span().subspan(
      static_cast<std::size_t>(from), static_cast<std::size_t>(ahead_from_ - from));
  proto::StreamPull pull;
  pull.set_tail(true);
  out.start(pull, {.pieces = {std::as_bytes(elements)}, .owner = tail_->weights});
  ahead_from_ = from;
  return true;
}

void StreamCaller::limit_refusal() {
  if (!due_) due_ = Clock::now() + kRefusalLimit;
}

void StreamCaller::start_leaving() {
  state = State::leaving;
  due_ = Clock::now() + kLeavingLimit;
  memory_.reset();
  landing.reset();
  in.next();
}

Status StreamCaller::admit() {
  computes_ = false;
  if (!push_.ParseFromArray(in.header().data(), static_cast<int>(in.header().size()))) {
    return invalid("a frame that is no StreamPush");
  }
  if (push_.has_hello()) {
    TRY(server_.check_token(push_.hello().token()));
    return place(0);
  }
  if (!known) return conflict("a stream begins with its hello");
  if (push_.goodbye()) return place(0);
  const proto::PushFrame& frame = push_.frame();
  TRY(server_.admit(*this, frame));
  if (frame.examples() == 0) return place(0);
  const auto bytes = static_cast<std::int64_t>(in.payload_bytes());
  TRY(server_.aggregator_.check_size(
      frame.rank(), frame.residuals() ? WithResiduals::yes : WithResiduals::no, bytes));
  TRY(place(bytes));
  return begin();
}

// Its end can be summed before the rest is there: where it is one gradient, and elements lie one
// after another.
Status StreamCaller::begin() {
  const Aggregator& aggregator = server_.aggregator_;
  pieces_ = 0;
  piece_bytes_ = 0;
  comes_from_end_ = push_.pieces_from_end_size() > 1 && aggregator.wire() == Wire::float32 &&
                    aggregator.parts_of(push_.frame().rank()) == 1;
  if (!comes_from_end_) return ok();
  Aggregator::TailSink sink;
  no_more_tails();
  takes_tails_ = push_.has_takes_tails_after() && wanted == proto::FLOAT32;
  computes_ = takes_tails_;
  computed_bytes_ = push_.takes_tails_after();
  ahead_from_ = aggregator.elements();
  if (takes_tails_) {
    sink = [weak = weak_from_this()](const Aggregator::Tail& tail) {
      if (const auto alive = weak.lock()) alive->offer(tail);
    };
  }
  return server_.begin(*this, push_.frame(), gradient(), std::move(sink));
}

bool StreamCaller::has_tail() const {
  return comes_from_end_ && in.stage() == IncomingFrame::Stage::payload &&
         in.placed_bytes() >= piece_bytes_ + push_.pieces_from_end(pieces_);
}

bool StreamCaller::begins_to_read() const {
  return computes_ && comes_from_end_ && in.placed_bytes() > computed_bytes_;
}

void StreamCaller::note_reading() {
  computes_ = false;
  port_->ready_.push_back(shared_from_this());
}

Status StreamCaller::take_tail() {
  while (has_tail()) piece_bytes_ += push_.pieces_from_end(pieces_++);
  const auto left = static_cast<std::int64_t>(in.payload_bytes() - piece_bytes_);
  return server_.release(*this, (left + float_bytes - 1) / float_bytes);
}

Payload StreamCaller::gradient() const {
  const auto bytes = static_cast<std::size_t>(in.payload_bytes());
  if (bytes == 0) return {};
  if (landing) return {.pieces = {std::as_bytes(landing->span())}, .owner = landing};
  return {.pieces = {std::as_bytes(memory_->span()).first(bytes)}, .owner = memory_};
}

// Memory of its own is used again by each frame, once the ps has summed the one before.
std::span<std::byte> StreamCaller::room_for(std::int64_t bytes) {
  landing.reset();
  if (bytes == 0) return {};
  landing = server_.aggregator_.landing();
  if (landing) return std::as_writable_bytes(landing->span());
  const auto floats = static_cast<std::size_t>((bytes + float_bytes - 1) / float_bytes);
  if (!memory_ || memory_->size() < floats || memory_.use_count() > 1) {
    memory_ = std::make_shared<AlignedBuffer>(large_buffer(floats));
  }
  return std::as_writable_bytes(memory_->span()).first(static_cast<std::size_t>(bytes));
}

Status StreamCaller::place(std::int64_t bytes) {
  if (in.payload_bytes() != static_cast<std::uint64_t>(bytes)) {
    return invalid("a payload of " + std::to_string(in.payload_bytes()) + " bytes, not " +
                   std::to_string(bytes));
  }
  const std::array<std::span<std::byte>, 1> places{room_for(bytes)};
  if (push_.pieces_from_end_size() > 0) return place_from_end(places[0]);
  return in.place(places);
}

// A gradient whose end comes first.
Status StreamCaller::place_from_end(std::span<std::byte> memory) {
  if (std::cmp_greater(push_.pieces_from_end_size(), tail_pieces_max)) {
    return invalid(std::to_string(push_.pieces_from_end_size()) +
                   " pieces of a payload, more than " + std::to_string(tail_pieces_max));
  }
  std::vector<std::span<std::byte>> places;
  for (const std::uint64_t bytes : push_.pieces_from_end()) {
    if (bytes > memory.size()) return invalid("pieces of more than the payload");
    places.push_back(memory.last(bytes));
    memory = memory.first(memory.size() - bytes);
  }
  if (!memory.empty()) return invalid("pieces of less than the payload");
  return in.place(places);
}

Status StreamCaller::greet() {
  if (!std::exchange(known, true)) server_.opened(shared_from_this());
  due_.reset();
  given_.emplace();
  port_->ready_.push_back(shared_from_this());
  return ok();
}

Status StreamCaller::take() {
  Payload payload = gradient();
  comes_from_end_ = false;
  in.next();
  state = State::waiting;
  if (push_.has_hello()) return greet();
  if (push_.goodbye()) {
    well = true;
    return ok();
  }
  return server_.take(*this, push_.frame(), std::move(payload),
                      [weak = weak_from_this()](const Result<Answer>& given) {
                        if (const auto alive = weak.lock()) alive->answer(given);
                      });
}

}  // namespace trainyard::runtime
