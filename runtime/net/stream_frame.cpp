// Protobuf writes and reads the headers; only the prefix is made by hand.
#include "runtime/net/stream_frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/net/frame.h"
#include "schemas/base/check.h"

namespace trainyard::runtime {
namespace {

constexpr std::uint32_t kMark = 0x31465954;  // "TYF1"
constexpr std::size_t kPrefixBytes = 16;
constexpr std::size_t kTurnBytes = std::size_t{4} << 20;  // of one call
constexpr int kBiteBytes = 256 << 10;  // of a large payload; measured: 128 to 512 KiB are alike

struct Prefix {
  std::uint32_t mark = kMark;
  std::uint32_t header_bytes = 0;
  std::uint64_t payload_bytes = 0;
};
static_assert(sizeof(Prefix) == kPrefixBytes);

}  // namespace

void PieceQueue::push(const void* data, std::size_t bytes) {
  if (bytes == 0) return;
  pieces_.push_back({.iov_base = const_cast<void*>(data), .iov_len = bytes});  // NOLINT
}

PieceQueue::Turn PieceQueue::turn(std::size_t limit) const {
  limit = std::min(limit, kTurnBytes);
  Turn turn;
  for (std::size_t i = at_; i < pieces_.size() && turn.count < turn.pieces.size(); ++i) {
    if (turn.bytes == limit) break;
    const std::size_t bytes = std::min(pieces_[i].iov_len, limit - turn.bytes);
    turn.pieces[turn.count++] = {.iov_base = pieces_[i].iov_base, .iov_len = bytes};
    turn.bytes += bytes;
  }
  return turn;
}

void PieceQueue::drop(std::size_t bytes) {
  while (bytes > 0) {
    iovec& piece = pieces_[at_];
    const std::size_t count = std::min(bytes, piece.iov_len);
    piece.iov_base = static_cast<std::byte*>(piece.iov_base) + count;
    piece.iov_len -= count;
    bytes -= count;
    if (piece.iov_len == 0) ++at_;
  }
}

void PieceQueue::clear() {
  pieces_.clear();
  at_ = 0;
}

void OutgoingFrame::start(const google::protobuf::MessageLite& header, Payload payload) {
  payload_ = std::move(payload);
  Prefix prefix;
  prefix.payload_bytes = static_cast<std::uint64_t>(payload_.bytes());
  head_.assign(kPrefixBytes, '\0');
  ENSURE(header.AppendToString(&head_));
  prefix.header_bytes = static_cast<std::uint32_t>(head_.size() - kPrefixBytes);
  ENSURE(prefix.header_bytes <= kFrameHeaderBytesMax);
  std::memcpy(head_.data(), &prefix, kPrefixBytes);
  pieces_.clear();
  pieces_.push(head_.data(), head_.size());
  for (const auto& piece : payload_.pieces) pieces_.push(piece.data(), piece.size());
  left_ = 0;
  may_leave_ = SIZE_MAX;
}

void OutgoingFrame::start_held(const google::protobuf::MessageLite& header, Payload payload) {
  start(header, std::move(payload));
  release(0);
}

Result<bool> OutgoingFrame::send_some(const StreamSocket& socket) {
  if (is_held()) return true;
  const PieceQueue::Turn turn = pieces_.turn(may_leave_ - left_);
  if (turn.count == 0) return false;
  TRY_ASSIGN(const std::size_t count, socket.send(turn.span()));
  pieces_.drop(count);
  left_ += count;
  if (pieces_.empty()) payload_ = {};
  return count < turn.bytes;
}

std::string_view IncomingFrame::header() const {
  return {reinterpret_cast<const char*>(staging_.data()) + kPrefixBytes, header_bytes_};
}

Result<bool> IncomingFrame::receive_some(const StreamSocket& socket) {
  if (stage_ == Stage::head) {
    const iovec room{.iov_base = staging_.data() + come_, .iov_len = staging_.size() - come_};
    TRY_ASSIGN(const std::size_t count, socket.receive({&room, 1}));
    come_ += count;
    TRY(look_at_head());
    return count < room.iov_len;
  }
  if (stage_ != Stage::payload) return true;
  const PieceQueue::Turn turn = places_.turn();
  choose_bites(socket);
  TRY_ASSIGN(const std::size_t count, socket.receive(turn.span()));
  places_.drop(count);
  left_ -= count;
  choose_bites(socket);
  if (places_.empty()) stage_ = Stage::whole;
  return count < turn.bytes;
}

// The end of a frame is told of at once, what comes before it not byte by byte: a thread that is
// awakened less often spends less on it.
void IncomingFrame::choose_bites(const StreamSocket& socket) {
  const bool large = left_ >= 2 * std::uint64_t{kBiteBytes};
  if (large == in_large_bites_) return;
  in_large_bites_ = large;
  socket.wake_at(large ? kBiteBytes : 1);
}

Status IncomingFrame::look_at_head() {
  if (come_ < kPrefixBytes) return ok();
  Prefix prefix;
  std::memcpy(&prefix, staging_.data(), kPrefixBytes);
  if (prefix.mark != kMark) return invalid("bytes that are no frame");
  if (prefix.header_bytes > kFrameHeaderBytesMax) {
    return invalid("a header of " + std::to_string(prefix.header_bytes) + " bytes, more than " +
                   std::to_string(kFrameHeaderBytesMax));
  }
  header_bytes_ = prefix.header_bytes;
  payload_bytes_ = prefix.payload_bytes;
  if (come_ >= kPrefixBytes + header_bytes_) stage_ = Stage::placing;
  return ok();
}

Status IncomingFrame::place(std::span<const std::span<std::byte>> places) {
  ENSURE(stage_ == Stage::placing);
  const std::size_t begin = kPrefixBytes + header_bytes_;
  auto come = std::span(staging_).first(come_).subspan(begin);
  std::uint64_t room = 0;
  for (const auto& place : places) {
    const std::size_t count = std::min(place.size(), come.size());
    if (count > 0) std::memcpy(place.data(), come.data(), count);
    come = come.subspan(count);
    places_.push(place.data() + count, place.size() - count);
    room += place.size();
  }
  ENSURE(room == payload_bytes_);
  left_ = payload_bytes_ - std::min<std::uint64_t>(payload_bytes_, come_ - begin);
  if (!come.empty()) return invalid("a frame before the last one was answered");
  stage_ = places_.empty() ? Stage::whole : Stage::payload;
  return ok();
}

void IncomingFrame::next() {
  come_ = 0;
  stage_ = Stage::head;
  places_.clear();
}

}  // namespace trainyard::runtime
