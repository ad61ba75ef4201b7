// Abstract names leave no file behind and vanish with their process.
#include "runtime/net/local_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <random>

namespace trainyard::runtime {

std::string new_local_socket_name() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string name = "trainyard-ps-";
  for (int i = 0; i < 32; ++i) name += kDigits[random() % kDigits.size()];
  return name;
}

std::string local_socket_address(const std::string& name) { return "unix-abstract:" + name; }

bool answers_here(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) return false;
  std::ranges::copy(name, address.sun_path + 1);  // after the zero that makes it abstract

  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  const bool answered = ::connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0;
  ::close(fd);
  return answered;
}

}  // namespace trainyard::runtime
