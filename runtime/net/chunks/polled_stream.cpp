#include "runtime/net/chunks/polled_stream.h"

#include <utility>

namespace trainyard::runtime {

PolledStream::PolledStream(StreamSocket socket, std::uint64_t key)
    : frames_(std::move(socket)), key_(key) {
  frames_.socket().keep_unsent_below(unsent_bytes_max);
}

Status PolledStream::join(const FramePoll& poll) const {
  return poll.add(socket().descriptor(), key_);
}

Status PolledStream::send(const FramePoll& poll, const FrameStream::Next& next) {
  TRY_ASSIGN(const bool is_all, frames_.send(next));
  const bool waits = !is_all;
  if (waits != watches_room_) {
    watches_room_ = waits;
    TRY(poll.watch(socket().descriptor(), key_,
                   waits ? FramePoll::Room::watched : FramePoll::Room::ignored));
  }
  waits_for_room_ = waits;
  return ok();
}

}  // namespace trainyard::runtime
