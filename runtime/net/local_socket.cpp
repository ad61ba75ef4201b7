// Abstract names leave no file behind and vanish with their process.
#include "runtime/net/local_socket.h"

#include <algorithm>
#include <cstddef>
#include <random>
#include <string_view>

#include "schemas/base/descriptor.h"

namespace trainyard::runtime {

std::string new_local_socket_name() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::random_device random;
  std::string name = "trainyard-ps-";
  for (int i = 0; i < 32; ++i) name += digits[random() % digits.size()];
  return name;
}

std::string local_socket_address(const std::string& name) { return "unix-abstract:" + name; }

std::optional<LocalAddress> LocalAddress::of(const std::string& name) {
  LocalAddress local;
  local.address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof local.address.sun_path) return std::nullopt;
  std::ranges::copy(name, local.address.sun_path + 1);  // after the zero that makes it abstract
  local.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return local;
}

bool answers_here(const std::string& name) {
  const auto address = LocalAddress::of(name);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return address && socket && ::connect(socket.get(), address->pointer(), address->length) == 0;
}

}  // namespace trainyard::runtime
