// What a worker sends to its ps, frame by frame, and what it makes of the frames that they send.
// Called by whoever moves bytes, one thread at a time; it takes the state's mutex itself.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/net/chunks/link_state.h"

namespace trainyard::runtime {

class LinkConnection;

class LinkFrames {
 public:
  // Arenas and state outlive this.
  LinkFrames(Hello hello, WorkerArenas& arenas, LinkState& state);

  // A new connection: what waited for the one before is forgotten, its hello is next.
  void joined(const LinkConnection& connection);
  // None: there is nothing to be sent now.
  std::optional<FrameStream::Outgoing> next(LinkConnection& connection);
  // As FrameStream::Receiver has them.
  Result<std::span<std::byte>> place(LinkConnection& connection, const FrameHeader& header);
  Status take(LinkConnection& connection, const FrameHeader& header,
              std::span<const std::byte> payload);

  enum class Wanted { another, none };
  // A connection, or one that could not be made, is gone.
  struct Loss {
    std::size_t ps = 0;
    bool was_welcomed = false;
    std::string why;
  };
  Wanted lost(const Loss& loss);

 private:
  [[nodiscard]] FrameStream::Outgoing hello_of(const LinkConnection& connection) const;
  // Takes the mutex itself.
  Result<std::span<std::byte>> place_parameters(LinkConnection& connection,
                                                const FrameHeader& header);
  // All of these under the mutex.
  [[nodiscard]] FrameStream::Outgoing gradient(const LinkConnection& connection,
                                               const WorkerExchange::ChunkToSend& next);
  Status take_welcome(LinkConnection& connection, const FrameHeader& header,
                      std::span<const std::byte> payload);
  Status share_weights(LinkConnection& connection);
  Status take_parameters(LinkConnection& connection, const FrameHeader& header);
  Status take_residual(LinkConnection& connection, const FrameHeader& header);
  Status take_applied(const LinkConnection& connection, std::span<const std::byte> payload);

  const Hello hello_;
  WorkerArenas& arenas_;
  LinkState& state_;
  bool shares_ = true;           // memory, with ps that take it
  std::vector<bool> said_lost_;  // by ps, until it is welcomed: it is tried many times a second
};

}  // namespace trainyard::runtime
