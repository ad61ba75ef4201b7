// Frames on a stream socket: a prefix of 16 bytes (little-endian: a mark of four bytes, the length
// of the header as 32 bits, that of the payload as 64), the header as protobuf writes it, the
// payload. The kernel moves payloads between the socket and where they lie: no copy of ours, no
// memory of ours.
#pragma once

#include <google/protobuf/message_lite.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/net/payload.h"
#include "runtime/net/stream_socket.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// What comes with the head of a frame, and of a small one all of it.
constexpr std::size_t frame_staging_bytes = 8192;

// A list of pieces that is moved from its front on.
class PieceQueue {
 public:
  void push(const void* data, std::size_t bytes);
  [[nodiscard]] bool empty() const { return at_ == pieces_.size(); }

  // For one call: no more than a few MiB, so that others have their turn, nor than `limit`.
  struct Turn {
    std::array<iovec, stream_pieces_max> pieces;
    std::size_t count = 0;
    std::size_t bytes = 0;

    [[nodiscard]] std::span<const iovec> span() const { return {pieces.data(), count}; }
  };
  [[nodiscard]] Turn turn(std::size_t limit = SIZE_MAX) const;
  void drop(std::size_t bytes);
  void clear();

 private:
  std::vector<iovec> pieces_;
  std::size_t at_ = 0;
};

// A frame on its way out, held until it is sent; at first none.
class OutgoingFrame {
 public:
  // The header has at most kFrameHeaderBytesMax bytes. `payload` does not change until it is sent,
  // and its owner is held as long.
  void start(const google::protobuf::MessageLite& header, Payload payload);
  [[nodiscard]] bool sent() const { return pieces_.empty(); }
  // One call's worth; true when the socket takes no more now, or all that may leave has left.
  Result<bool> send_some(const StreamSocket& socket);

  // The same of a payload that is still written, in the order of its pieces: none of it leaves
  // before it is released.
  void start_held(const google::protobuf::MessageLite& header, Payload payload);
  // So many bytes of it are as they will be. On any thread.
  void release(std::size_t payload_bytes) { may_leave_ = head_.size() + payload_bytes; }
  // What may leave has left, and more is to come.
  [[nodiscard]] bool is_held() const { return !sent() && left_ >= may_leave_; }

 private:
  std::string head_;
  Payload payload_;
  PieceQueue pieces_;
  std::size_t left_ = 0;                           // bytes that have left
  std::atomic<std::size_t> may_leave_ = SIZE_MAX;  // in all
};

// Frames as they come in, one after another.
class IncomingFrame {
 public:
  enum class Stage { head, placing, payload, whole };

  [[nodiscard]] Stage stage() const { return stage_; }
  // One call's worth of what there is; true when the socket has no more now. In stage `placing`
  // and `whole` nothing is read. `invalid` where the bytes are no frame or its header is too long.
  Result<bool> receive_some(const StreamSocket& socket);

  // From stage `placing` on.
  [[nodiscard]] std::string_view header() const;
  [[nodiscard]] std::uint64_t payload_bytes() const { return payload_bytes_; }
  // From stage `payload` on: how many of them are in their place, from the first on.
  [[nodiscard]] std::uint64_t placed_bytes() const { return payload_bytes_ - left_; }

  // Where the payload is to go: as many bytes as it has, and nobody else writes there meanwhile.
  // `invalid` when more than this frame has come: a worker sends none before the last one is
  // answered, and what a ps sends before another has frame_staging_bytes at least.
  Status place(std::span<const std::span<std::byte>> places);

  // Waits for the next frame.
  void next();
  // True when bytes of a frame have come that is not whole.
  [[nodiscard]] bool is_begun() const { return come_ > 0; }

 private:
  Status look_at_head();
  void choose_bites(const StreamSocket& socket);

  // Room for head and payload of a small frame, so that it comes by one call.
  std::array<std::byte, frame_staging_bytes> staging_;
  std::size_t come_ = 0;  // bytes in it
  Stage stage_ = Stage::head;
  std::uint32_t header_bytes_ = 0;
  std::uint64_t payload_bytes_ = 0;
  PieceQueue places_;
  std::uint64_t left_ = 0;       // bytes of the payload that have not come
  bool in_large_bites_ = false;  // the socket's wake_at()
};

}  // namespace trainyard::runtime
