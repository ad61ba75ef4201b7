// Sending goes first: an answer comes only when all of a frame is there.
#include "runtime/net/stream_lane.h"

#include <poll.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "runtime/net/waiting.h"
#include "schemas/wire/grpc_status.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t kTokenBytesMax = 2048;  // the header of a frame has a bound

std::uint64_t bytes_of(std::span<const std::span<std::byte>> places) {
  std::uint64_t sum = 0;
  for (const auto& place : places) sum += place.size();
  return sum;
}

// Of `count` bytes, the first of which is the `begin`-th of them all.
std::vector<std::span<std::byte>> part_of(std::span<const std::span<std::byte>> places,
                                          std::uint64_t begin, std::uint64_t count) {
  std::vector<std::span<std::byte>> part;
  for (const auto& place : places) {
    const std::uint64_t skipped = std::min<std::uint64_t>(begin, place.size());
    const std::uint64_t taken = std::min<std::uint64_t>(count, place.size() - skipped);
    if (taken > 0) part.push_back(place.subspan(skipped, taken));
    begin -= skipped;
    count -= taken;
  }
  return part;
}

}  // namespace

Result<StreamLane> StreamLane::connect(StreamSocket socket, const proto::Caller& caller,
                                       Clock::time_point deadline, const std::stop_token& stop) {
  if (caller.token().size() > kTokenBytesMax) return invalid("a token too long for a frame");
  StreamLane lane(std::move(socket));
  proto::StreamPush hello;
  *hello.mutable_hello() = caller;
  lane.ends_->out.start(hello, {});
  for (;;) {
    TRY_ASSIGN(const auto welcome, lane.advance());
    if (welcome) return lane;
    if (stop.stop_requested()) return unavailable("asked to stop");
    if (Clock::now() > deadline) return unavailable("no welcome in time");
    pollfd waiting{.fd = lane.descriptor(), .events = lane.awaited(), .revents = 0};
    ::poll(&waiting, 1, look_up_millis);
  }
}

short StreamLane::awaited() const {
  return static_cast<short>(can_send() ? POLLIN | POLLOUT : POLLIN);
}

void StreamLane::send(const proto::PushFrame& header, Payload payload,
                      std::vector<std::span<std::byte>> places) {
  proto::StreamPush push;
  *push.mutable_frame() = header;
  ends_->places = std::move(places);
  ends_->takes_tails = false;
  ends_->out.start(push, std::move(payload));
  // What went wrong, if it did, advance() finds out together with the reason that the ps gave.
  static_cast<void>(send_on());
}

void StreamLane::begin(const proto::PushFrame& header, std::vector<TailPiece> pieces,
                       std::vector<std::span<std::byte>> places, std::int64_t final_last) {
  proto::StreamPush push;
  *push.mutable_frame() = header;
  push.set_takes_tails_after(0);
  Payload payload;
  std::size_t bytes = 0;
  ends_->marks.clear();
  for (TailPiece& piece : pieces) {
    bytes += static_cast<std::size_t>(piece.payload.bytes());
    push.add_pieces_from_end(static_cast<std::uint64_t>(piece.payload.bytes()));
    std::ranges::copy(piece.payload.pieces, std::back_inserter(payload.pieces));
    ends_->marks.push_back({.from = piece.from, .bytes = bytes});
    if (piece.from >= final_last) push.set_takes_tails_after(bytes);
  }
  payload.owner = pieces.front().payload.owner;
  ends_->places = std::move(places);
  ends_->takes_tails = true;
  ends_->bytes_ahead = 0;
  ends_->out.start_held(push, std::move(payload));
}

void StreamLane::release(std::int64_t from) {
  const auto still =
      std::ranges::find_if(ends_->marks, [from](const auto& mark) { return mark.from < from; });
  if (still != ends_->marks.begin()) ends_->out.release(std::prev(still)->bytes);
}

Status StreamLane::send_on() {
  while (!ends_->out.sent()) {
    TRY_ASSIGN(const bool full, ends_->out.send_some(ends_->socket));
    if (full) break;
  }
  return ok();
}

// A ps that refuses says why and takes no more: its word counts more than the broken socket.
Result<std::optional<proto::PullFrame>> StreamLane::advance(Until until) {
  const Status sent = send_on();
  TRY_ASSIGN(auto answer, receive_on(until));
  if (answer) return answer;
  if (!sent.has_value()) return sent.error();
  return answer;
}

Result<std::optional<proto::PullFrame>> StreamLane::advance() { return advance(Until::whole); }

Result<std::optional<proto::PullFrame>> StreamLane::advance_to_header() {
  return advance(Until::header);
}

Result<std::optional<proto::PullFrame>> StreamLane::receive_on(Until until) {
  using Stage = IncomingFrame::Stage;
  IncomingFrame& in = ends_->in;
  const auto is_there = [this, &in, until] {
    if (ends_->in_tail) return false;
    return in.stage() == Stage::whole || (until == Until::header && in.stage() == Stage::payload);
  };
  for (bool drained = false; !drained && !is_there();) {
    TRY_ASSIGN(drained, in.receive_some(ends_->socket));
    if (in.stage() == Stage::placing) TRY(place());
    if (ends_->in_tail && in.stage() == Stage::whole) end_tail();
  }
  if (!is_there()) return std::optional<proto::PullFrame>();
  if (!ends_->out.sent()) return invalid("an answer to what was not sent yet");
  ends_->takes_tails = false;
  note_come();
  return std::optional(std::move(*ends_->pull.mutable_frame()));
}

bool StreamLane::is_arriving() const { return ends_->in.stage() == IncomingFrame::Stage::payload; }

Status StreamLane::receive_more() {
  TRY(ends_->in.receive_some(ends_->socket));
  note_come();
  return ok();
}

// What came ahead of the answer is its end.
void StreamLane::note_come() {
  const bool whole = ends_->in.stage() == IncomingFrame::Stage::whole;
  ends_->come = whole ? bytes_of(ends_->places) : ends_->in.placed_bytes();
  if (whole) ends_->in.next();
}

// A header is there; where its parameters go follows from what was asked, and from what came ahead.
Status StreamLane::place() {
  IncomingFrame& in = ends_->in;
  proto::StreamPull& pull = ends_->pull;
  if (!pull.ParseFromArray(in.header().data(), static_cast<int>(in.header().size()))) {
    return invalid("a frame that is no StreamPull");
  }
  if (pull.status() != 0) {
    return from_grpc({static_cast<grpc::StatusCode>(pull.status()), pull.message()});
  }
  if (pull.tail()) return place_tail();
  if (pull.frame().held()) ends_->places.clear();  // no parameters come
  const std::uint64_t room = bytes_of(ends_->places);
  const std::uint64_t ahead = pull.bytes_ahead();
  if (ahead > 0 && (!ends_->takes_tails || ahead != ends_->bytes_ahead || ahead > room)) {
    return invalid("answered without " + std::to_string(ahead) + " bytes, which did not come");
  }
  if (in.payload_bytes() != room - ahead) {
    return invalid("answered with " + std::to_string(in.payload_bytes()) + " bytes, not " +
                   std::to_string(room - ahead));
  }
  return in.place(part_of(ends_->places, 0, room - ahead));
}

Status StreamLane::place_tail() {
  IncomingFrame& in = ends_->in;
  const std::uint64_t room = bytes_of(ends_->places);
  const std::uint64_t bytes = in.payload_bytes();
  if (!ends_->takes_tails) return invalid("parameters ahead of an answer, unasked");
  if (bytes == 0 || bytes > room - ends_->bytes_ahead) {
    return invalid(std::to_string(bytes) + " bytes ahead of an answer, where it has " +
                   std::to_string(room - ends_->bytes_ahead));
  }
  ends_->in_tail = true;
  ends_->bytes_ahead += bytes;
  return in.place(part_of(ends_->places, room - ends_->bytes_ahead, bytes));
}

void StreamLane::end_tail() {
  ends_->in_tail = false;
  ends_->in.next();
}

void StreamLane::say_goodbye() {
  proto::StreamPush push;
  push.set_goodbye(true);
  ends_->out.start(push, {});
  static_cast<void>(send_on());  // a ps that is gone needs none
}

}  // namespace trainyard::runtime
