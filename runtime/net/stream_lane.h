// A worker's way to a ps by a stream socket: gradients leave straight from where they lie,
// parameters come straight to where they are read.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "runtime/net/stream_frame.h"
#include "runtime/net/tail_pieces.h"
#include "schemas/proto/params.pb.h"

namespace trainyard::runtime {

class StreamLane {
 public:
  using Clock = StreamSocket::Clock;

  // Introduces the caller, and has the ps' word that it is welcome. `unavailable` where no ps
  // answers before the deadline; else the error with which the ps refused.
  static Result<StreamLane> connect(StreamSocket socket, const proto::Caller& caller,
                                    Clock::time_point deadline, const std::stop_token& stop);

  // The payload is held, and must stay as it is, until the answer is there. `places`, likewise, is
  // where the answer's parameters go.
  void send(const proto::PushFrame& header, Payload payload,
            std::vector<std::span<std::byte>> places);
  // The same of a gradient that may still be computed: nothing leaves but what is released.
  // `pieces` as of tail_pieces(), the first with their owner. What lies before element `final_last`
  // of the arena is released at once, by who waits for the answer from then on: its parameters may
  // come from their end on, too, while the rest of the gradient leaves.
  void begin(const proto::PushFrame& header, std::vector<TailPiece> pieces,
             std::vector<std::span<std::byte>> places, std::int64_t final_last);
  // The elements of the arena from `from` on are final. On any thread.
  void release(std::int64_t from);
  // Sends what may leave now: until advance() is called again any one thread may do it.
  Status send_on();
  // There is something that may leave.
  [[nodiscard]] bool can_send() const { return !ends_->out.sent() && !ends_->out.is_held(); }

  // Moves what can be moved now; the answer when all of it is there, nothing before. `unavailable`
  // when the ps is gone; else the error with which it refused.
  Result<std::optional<proto::PullFrame>> advance();

  // The same, but the answer is there as soon as its header is: its parameters may follow.
  Result<std::optional<proto::PullFrame>> advance_to_header();
  // Its parameters have not all come. Until they have, nothing is called but what stands between
  // here and descriptor().
  [[nodiscard]] bool is_arriving() const;
  // Brings one call's worth of them to their place.
  Status receive_more();
  // Whether so many bytes of them are there, from the first on. On any thread.
  [[nodiscard]] bool has_come(std::uint64_t bytes) const { return ends_->come >= bytes; }

  // What to wait for, with poll(2), before the next advance().
  [[nodiscard]] int descriptor() const { return ends_->socket.descriptor(); }
  [[nodiscard]] short awaited() const;

  void say_goodbye();

 private:
  struct Ends {
    StreamSocket socket;
    OutgoingFrame out = {};
    IncomingFrame in = {};
    std::vector<std::span<std::byte>> places = {};
    proto::StreamPull pull = {};
    bool takes_tails = false;       // parameters may come ahead of the answer
    bool in_tail = false;           // what comes is a part of them
    std::uint64_t bytes_ahead = 0;  // of those that have come, from the places' end on
    // Of a gradient that is still computed: how many bytes may leave with the elements from `from`.
    struct Mark {
      std::int64_t from = 0;
      std::size_t bytes = 0;
    };
    std::vector<Mark> marks = {};
    std::atomic<std::uint64_t> come = 0;  // bytes of the answer's parameters
  };
  explicit StreamLane(StreamSocket socket) : ends_(new Ends{.socket = std::move(socket)}) {}
  enum class Until { header, whole };
  Result<std::optional<proto::PullFrame>> advance(Until until);
  Result<std::optional<proto::PullFrame>> receive_on(Until until);
  Status place();
  Status place_tail();
  void end_tail();
  void note_come();

  std::unique_ptr<Ends> ends_;  // a frame points into itself
};

}  // namespace trainyard::runtime
