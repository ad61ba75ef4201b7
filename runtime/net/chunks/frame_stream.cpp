#include "runtime/net/chunks/frame_stream.h"

#include <algorithm>
#include <utility>

namespace trainyard::runtime {
namespace {

constexpr std::size_t turn_bytes = 2 << 20;

}  // namespace

// The rest of a payload and the header behind it come by one call.
Result<bool> FrameStream::receive(Receiver& receiver) {
  for (std::size_t moved = 0; moved < turn_bytes;) {
    const bool in_payload = head_come_ == frame_header_bytes;
    FrameHeaderBytes ahead;
    std::array<iovec, 2> places{};
    std::size_t count = 0;
    const std::size_t missing = in_payload ? place_.size() - come_ : 0;
    if (missing > 0) places[count++] = {place_.data() + come_, missing};
    places[count++] = in_payload
                          ? iovec{ahead.data(), ahead.size()}
                          : iovec{head_.data() + head_come_, frame_header_bytes - head_come_};
    TRY_ASSIGN(const std::size_t bytes, socket_.receive(std::span(places).first(count), passed_));
    if (bytes == 0) return true;
    moved += bytes;
    if (!in_payload) {
      head_come_ += bytes;
    } else {
      come_ += std::min(bytes, missing);
      if (come_ < place_.size()) continue;
      TRY(finish_frame(receiver));
      head_come_ = bytes - missing;
      std::copy_n(ahead.begin(), head_come_, head_.begin());
    }
    if (head_come_ == frame_header_bytes) TRY(look_at_header(receiver));
  }
  return false;
}

Status FrameStream::look_at_header(Receiver& receiver) {
  TRY_ASSIGN(header_, decode_header(head_));
  TRY_ASSIGN(place_, receiver.place(header_));
  come_ = 0;
  if (place_.empty()) {
    if (header_.bytes > small_.size()) return invalid("a frame is longer than its kind may be");
    place_ = std::span(small_).first(header_.bytes);
  }
  ENSURE(place_.size() == header_.bytes);
  if (header_.bytes > 0) return ok();
  return finish_frame(receiver);
}

Status FrameStream::finish_frame(Receiver& receiver) {
  head_come_ = 0;
  return receiver.take(header_, std::exchange(place_, {}));
}

void FrameStream::start(Outgoing frame) {
  std::size_t bytes = 0;
  for (const auto& piece : frame.pieces) bytes += piece.size();
  frame.header.bytes = static_cast<std::uint32_t>(bytes);
  head_out_ = encode_header(frame.header);
  pieces_.clear();
  at_ = 0;
  pieces_.push_back({head_out_.data(), head_out_.size()});
  for (const auto& piece : frame.pieces) {
    if (!piece.empty()) pieces_.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
  }
  out_ = std::move(frame);
}

Result<bool> FrameStream::send(const Next& next) {
  for (;;) {
    if (!out_) {
      auto frame = next();
      if (!frame) return true;
      start(*std::move(frame));
    }
    const auto left = std::span(pieces_).subspan(at_);
    const auto now = left.first(std::min(left.size(), stream_pieces_max));
    TRY_ASSIGN(std::size_t bytes, socket_.send(now, out_->passed));
    if (bytes == 0) return false;
    out_->passed = -1;
    while (bytes > 0) {
      iovec& piece = pieces_[at_];
      const std::size_t part = std::min(bytes, piece.iov_len);
      piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
      piece.iov_len -= part;
      bytes -= part;
      if (piece.iov_len == 0) ++at_;
    }
    if (at_ == pieces_.size()) out_.reset();
  }
}

}  // namespace trainyard::runtime
