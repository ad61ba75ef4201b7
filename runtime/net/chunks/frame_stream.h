// Frames on a stream socket, both ways. The kernel moves payloads between the socket and where they
// lie. Frames to send are asked for when those before have left, small ones several at once: so
// what is needed first can overtake what waits.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/net/chunks/chunk_frame.h"
#include "runtime/net/stream_socket.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// Less than a chunk waits in the kernel: what is needed first overtakes the rest.
constexpr int unsent_bytes_max = 128 << 10;

class FrameStream {
 public:
  explicit FrameStream(StreamSocket socket) : socket_(std::move(socket)) {}

  class Receiver {
   public:
    virtual ~Receiver() = default;
    // Room for a payload that is longer than small_payload_bytes_max, or for any: header.bytes
    // exactly, or none, where a small one is to be kept by the stream. An error ends the stream.
    virtual Result<std::span<std::byte>> place(const FrameHeader& header) = 0;
    // The frame is whole.
    virtual Status take(const FrameHeader& header, std::span<const std::byte> payload) = 0;
  };
  // What there is, but so much at a time that others have their share. True: the socket has no
  // more. A call that gives less than there is room for has given all, but not always the word that
  // the peer is gone: that is behind it.
  enum class Behind { nothing, perhaps_the_end };
  Result<bool> receive(Receiver& receiver, Behind behind = Behind::nothing);

  struct Outgoing {
    FrameHeader header;                              // its `bytes` are counted here
    std::vector<std::span<const std::byte>> pieces;  // of the payload
    std::shared_ptr<const void> owner;               // holds them until they have left
    int passed = -1;                                 // Unix: a file that goes with it
  };
  // Whatever `next` gives, until it gives nothing. False: the socket takes no more now.
  using Next = std::function<std::optional<Outgoing>()>;
  Result<bool> send(const Next& next);

  [[nodiscard]] const StreamSocket& socket() const { return socket_; }
  // The file that has come last, once.
  Descriptor take_passed() { return std::move(passed_); }

 private:
  // Of what comes ahead of its place: headers, and payloads that are short.
  static constexpr std::size_t ahead_bytes = 2048;

  Result<std::size_t> fill();
  Status take_frames(Receiver& receiver);
  Result<bool> take_header(Receiver& receiver);
  void copy_ahead();
  Status finish_frame(Receiver& receiver);
  void wake_for_payload();
  bool gather(const Next& next);

  StreamSocket socket_;
  Descriptor passed_;

  // Coming in.
  std::array<std::byte, ahead_bytes> ahead_{};
  std::size_t ahead_begin_ = 0;  // of what is left in it
  std::size_t ahead_end_ = 0;
  bool in_payload_ = false;
  FrameHeader header_;
  std::span<std::byte> place_;  // of the payload, whole
  std::size_t come_ = 0;        // bytes in it
  std::array<std::byte, small_payload_bytes_max> small_{};
  int wake_bytes_ = 1;  // TCP: a poll tells of no less

  // Going out: small frames, and at most one large one behind them.
  struct Queued {
    FrameHeaderBytes head;
    Outgoing frame;
  };
  std::deque<Queued> out_;
  std::vector<iovec> pieces_;  // of all of them; left from at_ on
  std::size_t at_ = 0;
  int passed_out_ = -1;
};

}  // namespace trainyard::runtime
