#include "runtime/net/chunks/frame_stream.h"

#include <algorithm>
#include <utility>

namespace trainyard::runtime {
namespace {

constexpr std::size_t bytes_per_call = 2 << 20;

// Each time that a poll tells of a payload costs system calls and a switch of threads: it is worth
// them for so much. Where the socket's buffer has less room the kernel tells earlier.
constexpr std::size_t wake_step_bytes = 32 << 10;
constexpr std::size_t wake_bytes_max = 256 << 10;

}  // namespace

// The rest of a payload and what is behind it come by one call; so do many small frames. Nothing
// whole is kept back: nobody would be told of it again.
Result<bool> FrameStream::receive(Receiver& receiver, Behind behind) {
  for (std::size_t moved = 0; moved < bytes_per_call;) {
    const std::size_t asked = place_.size() - come_ + ahead_.size() - (ahead_end_ - ahead_begin_);
    const bool had_file = static_cast<bool>(passed_);
    TRY_ASSIGN(const std::size_t bytes, fill());
    const bool ends_at_file = !had_file && static_cast<bool>(passed_);  // a call ends behind one
    TRY(take_frames(receiver));
    const bool is_short = bytes < asked && behind == Behind::nothing && !ends_at_file;
    moved += bytes;
    if (bytes == 0 || is_short) {
      wake_for_payload();
      return true;
    }
  }
  wake_for_payload();
  return false;
}

// At most what is missing: all of it is on its way.
void FrameStream::wake_for_payload() {
  const std::size_t missing = in_payload_ ? place_.size() - come_ : 0;
  const std::size_t steps = std::min(missing, wake_bytes_max) / wake_step_bytes;
  const int bytes = std::max(1, static_cast<int>(steps * wake_step_bytes));
  if (bytes == wake_bytes_ || socket_.is_unix()) return;
  wake_bytes_ = bytes;
  socket_.wake_at(bytes);
}

Status FrameStream::take_frames(Receiver& receiver) {
  for (;;) {
    if (!in_payload_) {
      TRY_ASSIGN(const bool is_whole, take_header(receiver));
      if (!is_whole) return ok();
    }
    copy_ahead();
    if (come_ < place_.size()) return ok();
    TRY(finish_frame(receiver));
  }
}

// All that is missing of the payload, then as much as there is room for ahead.
Result<std::size_t> FrameStream::fill() {
  if (ahead_begin_ > 0) {
    std::copy(ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_begin_),
              ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_end_), ahead_.begin());
    ahead_end_ -= std::exchange(ahead_begin_, 0);
  }
  std::array<iovec, 2> places{};
  std::size_t count = 0;
  const std::size_t missing = in_payload_ ? place_.size() - come_ : 0;
  if (missing > 0) places[count++] = {place_.data() + come_, missing};
  places[count++] = {ahead_.data() + ahead_end_, ahead_.size() - ahead_end_};
  TRY_ASSIGN(const std::size_t bytes, socket_.receive(std::span(places).first(count), passed_));
  const std::size_t placed = std::min(bytes, missing);
  come_ += placed;
  ahead_end_ += bytes - placed;
  return bytes;
}

// False: there is none yet.
Result<bool> FrameStream::take_header(Receiver& receiver) {
  if (ahead_end_ - ahead_begin_ < frame_header_bytes) return false;
  FrameHeaderBytes head;
  std::copy_n(ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_begin_), head.size(),
              head.begin());
  ahead_begin_ += head.size();
  TRY_ASSIGN(header_, decode_header(head));
  TRY_ASSIGN(place_, receiver.place(header_));
  come_ = 0;
  in_payload_ = true;
  if (place_.empty()) {
    if (header_.bytes > small_.size()) return invalid("a frame is longer than its kind may be");
    place_ = std::span(small_).first(header_.bytes);
  }
  ENSURE(place_.size() == header_.bytes);
  return true;
}

void FrameStream::copy_ahead() {
  const std::size_t count = std::min(ahead_end_ - ahead_begin_, place_.size() - come_);
  std::copy_n(ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_begin_), count,
              place_.begin() + static_cast<std::ptrdiff_t>(come_));
  ahead_begin_ += count;
  come_ += count;
}

Status FrameStream::finish_frame(Receiver& receiver) {
  in_payload_ = false;
  come_ = 0;
  return receiver.take(header_, std::exchange(place_, {}));
}

// Frames up to the first large one, so that one call sends them. False: there is none.
bool FrameStream::gather(const Next& next) {
  constexpr std::size_t small_bytes = 4096;
  constexpr std::size_t frames_max = 16;
  pieces_.clear();
  at_ = 0;
  while (out_.size() < frames_max) {
    auto frame = next();
    if (!frame) break;
    std::size_t bytes = 0;
    for (const auto& piece : frame->pieces) bytes += piece.size();
    frame->header.bytes = static_cast<std::uint32_t>(bytes);
    Queued& queued =
        out_.emplace_back(Queued{.head = encode_header(frame->header), .frame = *std::move(frame)});
    pieces_.push_back({queued.head.data(), queued.head.size()});
    for (const auto& piece : queued.frame.pieces) {
      if (!piece.empty()) pieces_.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
    }
    if (queued.frame.passed >= 0) passed_out_ = queued.frame.passed;
    if (bytes > small_bytes || passed_out_ >= 0) break;
  }
  return !out_.empty();
}

Result<bool> FrameStream::send(const Next& next) {
  for (;;) {
    if (out_.empty() && !gather(next)) return true;
    const auto left = std::span(pieces_).subspan(at_);
    const auto now = left.first(std::min(left.size(), stream_pieces_max));
    TRY_ASSIGN(std::size_t bytes, socket_.send(now, passed_out_));
    if (bytes == 0) return false;
    passed_out_ = -1;
    while (bytes > 0) {
      iovec& piece = pieces_[at_];
      const std::size_t part = std::min(bytes, piece.iov_len);
      piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
      piece.iov_len -= part;
      bytes -= part;
      if (piece.iov_len == 0) ++at_;
    }
    if (at_ == pieces_.size()) out_.clear();
  }
}

}  // namespace trainyard::runtime
