// Frames without tensors that wait to be sent, by peer: they leave before all others. Whoever owns
// them guards them.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "runtime/net/chunks/chunk_frame.h"
#include "runtime/net/chunks/frame_stream.h"

namespace trainyard::runtime {

// With a payload of its own.
FrameStream::Outgoing small_frame(const FrameHeader& header, std::string payload = {});

class SmallFrames {
 public:
  explicit SmallFrames(std::size_t peers) : waiting_(peers) {}

  void add(std::size_t peer, FrameStream::Outgoing frame) {
    waiting_[peer].push_back(std::move(frame));
  }
  // None: nothing waits.
  std::optional<FrameStream::Outgoing> next(std::size_t peer);
  // The connection that they were for is gone.
  void clear(std::size_t peer) { waiting_[peer].clear(); }

 private:
  std::vector<std::deque<FrameStream::Outgoing>> waiting_;  // by peer
};

}  // namespace trainyard::runtime
