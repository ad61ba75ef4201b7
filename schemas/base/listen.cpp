#include "schemas/base/listen.h"

#include <netdb.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "schemas/base/descriptor.h"

namespace trainyard {
namespace {

int bind_once(const addrinfo& place) {
  const Descriptor socket(
      ::socket(place.ai_family, place.ai_socktype | SOCK_CLOEXEC, place.ai_protocol));
  if (!socket) return errno;
  const int yes = 1;  // as servers do: what others left behind is no reason
  static_cast<void>(::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
  if (::bind(socket.get(), place.ai_addr, place.ai_addrlen) != 0) return errno;
  return ::listen(socket.get(), 1) == 0 ? 0 : errno;
}

}  // namespace

std::string why_not_listen_at(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return "not of the form host:port";
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                    address.c_str() + colon + 1, &hints, &found);
  if (failure != 0) return ::gai_strerror(failure);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> places(found, &::freeaddrinfo);
  for (const addrinfo* place = found; place != nullptr; place = place->ai_next) {
    if (const int error = bind_once(*place); error != 0) {
      return std::generic_category().message(error);
    }
  }
  return "";
}

}  // namespace trainyard
