// Frames on a stream socket, both ways. The kernel moves payloads between the socket and where they
// lie. Frames to send are asked for one at a time, when the one before has left: so what is needed
// first can overtake what waits.
#pragma once

#include <array>
#include <cstddef>
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
  // What there is, but so much at a time that others have their turn. True: the socket has no more.
  Result<bool> receive(Receiver& receiver);

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
  Status look_at_header(Receiver& receiver);
  Status finish_frame(Receiver& receiver);
  void start(Outgoing frame);

  StreamSocket socket_;
  Descriptor passed_;

  // Coming in.
  FrameHeaderBytes head_{};
  std::size_t head_come_ = 0;
  FrameHeader header_;
  std::span<std::byte> place_;  // of the payload, whole
  std::size_t come_ = 0;        // bytes in it
  std::array<std::byte, small_payload_bytes_max> small_{};

  // Going out.
  FrameHeaderBytes head_out_{};
  std::optional<Outgoing> out_;
  std::vector<iovec> pieces_;  // what is left of it, from at_ on
  std::size_t at_ = 0;
};

}  // namespace trainyard::runtime
