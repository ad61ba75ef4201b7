// A stream of frames whose socket is in a poll: it is sent to until it has no room, and again when
// the poll reports room.
#pragma once

#include <cstdint>

#include "runtime/net/chunks/frame_poll.h"
#include "runtime/net/chunks/frame_stream.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

class PolledStream {
 public:
  // Less than a chunk waits in the kernel from now on.
  PolledStream(StreamSocket socket, std::uint64_t key);

  // Reported by its key.
  [[nodiscard]] Status join(const FramePoll& poll) const;

  // Whatever `next` gives, until it gives nothing or there is no room. An error: the peer is gone.
  [[nodiscard]] Status send(const FramePoll& poll, const FrameStream::Next& next);
  [[nodiscard]] bool waits_for_room() const { return waits_for_room_; }
  void room_came() { waits_for_room_ = false; }

  [[nodiscard]] FrameStream& frames() { return frames_; }
  [[nodiscard]] const StreamSocket& socket() const { return frames_.socket(); }

 private:
  FrameStream frames_;
  std::uint64_t key_;
  bool waits_for_room_ = false;
  bool watches_room_ = false;  // the poll reports it
};

}  // namespace trainyard::runtime
