// A worker at a StreamPort: what it has sent so far, and what it is to be sent.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "runtime/math/aligned_buffer.h"
#include "runtime/net/ps_caller.h"
#include "runtime/net/stream_frame.h"

namespace trainyard::runtime {

class PsServer;
class StreamPort;

// Of the port's thread alone, but for what says otherwise.
class StreamCaller : public PsCaller, public std::enable_shared_from_this<StreamCaller> {
 public:
  //                hello          frame             answer            sent
  //   unknown ────────────► idle ───────► waiting ─────────► answering ─────► idle
  //      └───────refused──────┴──refused─────┴─────refused──────┘───────────► leaving
  // Parameters may go ahead of the answer while it is idle or waiting: the answer, or the refusal,
  // is started when they are sent.
  enum class State { unknown, idle, waiting, answering, leaving };
  using Clock = std::chrono::steady_clock;

  StreamCaller(StreamSocket from, StreamPort& port, PsServer& server);

  // Under the server's lock, by any thread.
  void answer(const Result<Answer>& given);
  void refuse(const Error& error);
  // Under the server's lock: the port is gone, answers have no way any more.
  void cut_off() { port_ = nullptr; }

  // Under the server's lock: takes note of a header. The error of a caller that is to be refused:
  // before anything of its payload is in memory.
  Status admit();
  // Under the server's lock: what is to be done with a whole frame.
  Status take();
  // Under the server's lock: more of a gradient that comes from its end on has come.
  Status take_tail();
  // Whether take_tail() has anything to do.
  [[nodiscard]] bool has_tail() const;
  // Whether the caller, which has computed the gradient that comes, reads since the last look; and
  // then, under the server's lock, that it may have what was updated ahead.
  [[nodiscard]] bool begins_to_read() const;
  void note_reading();
  // Under the server's lock, by any thread: elements of the step that is being made, which may go
  // ahead of the answer.
  void offer(const Aggregator::Tail& tail);
  // Once all before it is sent: the next thing to send. False: there is none. Under the server's
  // lock.
  bool start_next();

  // Until its frame is answered nothing may come from it.
  [[nodiscard]] bool is_busy() const {
    return state == State::waiting || state == State::answering;
  }
  [[nodiscard]] bool is_refused() const { return refused_; }
  [[nodiscard]] bool is_overdue(Clock::time_point now) const { return due_ && now > *due_; }
  // It is refused: it has so long to read what it was sent before, and the reason.
  void limit_refusal();
  // The refusal is sent: what still comes is thrown away for a while, so that it is not lost.
  void start_leaving();

  const StreamSocket socket;
  const Clock::time_point came_at = Clock::now();
  State state = State::unknown;
  bool well = false;   // it has said goodbye
  bool known = false;  // to the server
  bool armed = false;  // its socket is watched for room
  IncomingFrame in;
  OutgoingFrame out;

 private:
  Status greet();
  Status place(std::int64_t bytes);
  Status place_from_end(std::span<std::byte> memory);
  Status begin();
  [[nodiscard]] std::span<std::byte> room_for(std::int64_t bytes);
  [[nodiscard]] Payload gradient() const;  // of the frame that comes
  bool start_tail();
  void no_more_tails();
  [[nodiscard]] std::int64_t bytes_ahead_of(const Answer& given) const;

  StreamPort* port_;  // under the server's lock
  PsServer& server_;
  proto::StreamPush push_;                 // of the frame that comes
  std::shared_ptr<AlignedBuffer> memory_;  // of payloads that have no landing
  // Of a gradient that comes from its end on: how many of its pieces, and of their bytes, the ps
  // knows to have come.
  bool comes_from_end_ = false;
  int pieces_ = 0;
  std::uint64_t piece_bytes_ = 0;
  bool computes_ = false;                 // and reads nothing meanwhile
  std::uint64_t computed_bytes_ = 0;      // of its gradient, which leave before it reads
  std::optional<Clock::time_point> due_;  // when it is dropped
  // Under the server's lock:
  std::optional<std::pair<proto::StreamPull, Payload>> given_;
  bool takes_tails_ = false;              // until it is answered
  std::optional<Aggregator::Tail> tail_;  // the newest that was offered
  std::int64_t ahead_from_ = 0;           // the elements from here on have gone ahead, or are going
  bool refused_ = false;
};

}  // namespace trainyard::runtime
