#include "agent/host/ports.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <memory>
#include <sstream>

#include "schemas/base/descriptor.h"
#include "schemas/files/file.h"
#include "schemas/files/whole_file.h"

namespace trainyard::agent {

Status try_to_listen(const std::string& host, int port) {
  std::string name = host;
  if (name.size() >= 2 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  }
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  if (const int code = ::getaddrinfo(name.c_str(), service.c_str(), &wanted, &found); code != 0) {
    return unavailable("cannot find the host \"" + host + "\": " + ::gai_strerror(code));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &::freeaddrinfo);

  const Descriptor socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("cannot open a socket");
  // What a task that listened here has left behind in TIME_WAIT is no other program.
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool listens = ::bind(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                       ::listen(socket.get(), 1) == 0;
  if (listens) return ok();
  const std::string where = (port == 0 ? "" : "port " + service + " of ") + host;
  if (errno == EADDRINUSE) return conflict("another program holds " + where);
  return system_error("cannot listen on " + where);
}

std::string at_host(const std::string& address, const std::string& host) {
  const std::size_t colon = address.rfind(':');
  return colon == std::string::npos ? address : host + address.substr(colon);
}

int port_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const char* const begin = address.data() + (colon == std::string::npos ? 0 : colon + 1);
  int port = 0;
  std::from_chars(begin, address.data() + address.size(), port);
  return port;
}

std::optional<PortRange> ephemeral_ports() {
  const Result<std::string> text = read_file("/proc/sys/net/ipv4/ip_local_port_range");
  if (!text) return std::nullopt;
  std::istringstream numbers(*text);
  PortRange range;
  if (!(numbers >> range.first >> range.last)) return std::nullopt;
  return range;
}

}  // namespace trainyard::agent
