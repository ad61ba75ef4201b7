#include "tests/support/loopback.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <stdexcept>

namespace trainyard {

Descriptor bind_to_loopback(int port) {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(socket.get(), generic, sizeof address) != 0) return {};
  return socket;
}

Descriptor listen_on_loopback() {
  constexpr int waiting_max = 16;
  Descriptor socket = bind_to_loopback();
  if (!socket || ::listen(socket.get(), waiting_max) != 0) {
    throw std::runtime_error("nothing to listen at on 127.0.0.1");
  }
  return socket;
}

int port_of_socket(const Descriptor& socket) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.sin_port);
}

}  // namespace trainyard
