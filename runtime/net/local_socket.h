// The abstract Unix sockets by which workers on the ps' own host are served. Their names follow
// from the attempt's token (chunk_frame.h), so whoever can connect to one is on the same host.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string>

namespace trainyard::runtime {

// One that nobody else has, for those who have no token.
std::string new_local_socket_name();

// As the system takes it.
struct LocalAddress {
  sockaddr_un address{};
  socklen_t length = 0;

  static std::optional<LocalAddress> of(const std::string& name);  // nothing: too long, or empty
  [[nodiscard]] const sockaddr* pointer() const {
    return reinterpret_cast<const sockaddr*>(&address);
  }
};

// What gRPC calls it.
std::string local_socket_address(const std::string& name);

// True when a process of this host listens on it, for a stream.
bool answers_here(const std::string& name);

}  // namespace trainyard::runtime
