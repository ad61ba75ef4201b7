// A worker's connection to one ps: its bytes, and how far it has come.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "runtime/net/chunks/link_frames.h"
#include "runtime/net/chunks/polled_stream.h"

namespace trainyard::runtime {

class LinkConnection : public FrameStream::Receiver {
 public:
  LinkConnection(LinkFrames& frames, std::size_t number, StreamSocket socket)
      : ps(number), stream(std::move(socket), number), frames_(frames) {}

  Result<std::span<std::byte>> place(const FrameHeader& header) override {
    return frames_.place(*this, header);
  }
  Status take(const FrameHeader& header, std::span<const std::byte> payload) override {
    return frames_.take(*this, header, payload);
  }

  const std::size_t ps;
  PolledStream stream;
  bool said_hello = false;
  bool is_welcomed = false;
  bool is_shared = false;       // gradients and parameters lie in memory of both
  bool comes_in_place = false;  // the chunk of parameters that comes, or came last
  std::vector<float> landing;   // where parameters go that are decoded, or not wanted

 private:
  LinkFrames& frames_;
};

}  // namespace trainyard::runtime
