// What moves a ps' bytes: the sockets that it listens at, the connections of workers, and those of
// strangers until they have said a right hello. What is in other frames ServerFrames knows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/net/chunks/connected_workers.h"
#include "runtime/net/chunks/frame_poll.h"
#include "runtime/net/chunks/server_connection.h"
#include "runtime/net/chunks/server_frames.h"
#include "runtime/net/spare_descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// Sockets of a ps are reported by it.
constexpr std::uint64_t poll_key(int descriptor) { return static_cast<std::uint64_t>(descriptor); }

class ServerConnections {
 public:
  struct Rules {
    std::string token;       // of the attempt
    std::uint64_t plan = 0;  // as in Hello
    std::int64_t ranks = 1;
  };
  // Listeners are in the poll. The poll, `workers` and `frames` outlive this.
  ServerConnections(Rules rules, const FramePoll& poll, std::vector<StreamSocket> listeners,
                    ConnectedWorkers& workers, ServerFrames& frames);

  // Of the first listener.
  [[nodiscard]] int port() const { return listeners_.front().port(); }

  // Somebody calls, or a connection has something.
  void serve(const FramePoll::Event& event);
  // Sends what there is to all who have room.
  void send_all();
  // Closes strangers that have been here for too long.
  void drop_silent();

  // Of connections: as FrameStream::Receiver has them.
  Result<std::span<std::byte>> place(ServerConnection& connection, const FrameHeader& header);
  Status take(ServerConnection& connection, const FrameHeader& header,
              std::span<const std::byte> payload);

 private:
  bool accept(std::uint64_t key);
  void accept_from(const StreamSocket& listener);
  void make_room(bool is_local);
  Status take_hello(ServerConnection& connection, const FrameHeader& header,
                    std::span<const std::byte> payload);
  void close(std::uint64_t key, const std::string& why);

  const Rules rules_;
  const FramePoll& poll_;
  const std::vector<StreamSocket> listeners_;
  ConnectedWorkers& workers_;
  ServerFrames& frames_;
  SpareDescriptor spare_;
  std::optional<std::string> fingerprint_;  // as in Hello, of the first worker
  std::map<std::uint64_t, std::unique_ptr<ServerConnection>> connections_;  // by key
};

}  // namespace trainyard::runtime
