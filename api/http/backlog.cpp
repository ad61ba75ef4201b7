// Finding the socket that listens on a port, in the list of the process's own descriptors.
#include "api/http/backlog.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <filesystem>
#include <string>

namespace trainyard::api {
namespace {

bool listens_on(int descriptor, std::uint16_t port) {
  int listens = 0;
  socklen_t size = sizeof listens;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0) return false;
  sockaddr_in bound{};
  size = sizeof bound;
  if (listens == 0 || ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&bound), &size) != 0) {
    return false;
  }
  return bound.sin_family == AF_INET && ntohs(bound.sin_port) == port;
}

}  // namespace

void lengthen_backlog(std::uint16_t port) {
  constexpr int queue_length = 4096;  // the system takes less where net.core.somaxconn says so
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const std::string name = entry.path().filename().string();
    int descriptor = -1;
    std::from_chars(name.data(), name.data() + name.size(), descriptor);
    if (listens_on(descriptor, port)) ::listen(descriptor, queue_length);
  }
}

}  // namespace trainyard::api
