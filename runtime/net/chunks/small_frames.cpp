#include "runtime/net/chunks/small_frames.h"

#include <memory>
#include <span>
#include <utility>

namespace trainyard::runtime {

FrameStream::Outgoing small_frame(const FrameHeader& header, std::string payload) {
  if (payload.empty()) return {.header = header, .pieces = {}, .owner = nullptr};
  const auto kept = std::make_shared<const std::string>(std::move(payload));
  return {.header = header, .pieces = {std::as_bytes(std::span(*kept))}, .owner = kept};
}

std::optional<FrameStream::Outgoing> SmallFrames::next(std::size_t peer) {
  auto& waiting = waiting_[peer];
  if (waiting.empty()) return std::nullopt;
  FrameStream::Outgoing first = std::move(waiting.front());
  waiting.pop_front();
  return first;
}

}  // namespace trainyard::runtime
