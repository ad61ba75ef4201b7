// Packets between processes of one host, over an abstract Unix socket: whole or not at all, each
// with at most one file descriptor beside it.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "schemas/base/descriptor.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

struct Packet {
  std::string bytes;
  Descriptor passed;  // may be none
};

class PacketSocket {
 public:
  // `name` as of new_local_socket_name().
  static Result<PacketSocket> listen(const std::string& name);
  static Result<PacketSocket> connect(const std::string& name);

  // The next caller of a listening socket; nothing when none waits, or one of another user.
  [[nodiscard]] std::optional<PacketSocket> accept() const;

  // Never waits: `unavailable` when the peer is gone or takes no more. `passed` < 0: no descriptor.
  [[nodiscard]] Status send(std::string_view bytes, int passed = -1) const;
  // The next packet that is there; nothing when none is. `unavailable` when the peer is gone.
  [[nodiscard]] Result<std::optional<Packet>> receive() const;

  [[nodiscard]] int descriptor() const { return socket_.get(); }

 private:
  explicit PacketSocket(Descriptor socket) : socket_(std::move(socket)) {}

  Descriptor socket_;
};

}  // namespace trainyard::runtime
