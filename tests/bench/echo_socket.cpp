// Blocking reads and writes of whole messages.
#include "tests/bench/echo_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schemas/base/check.h"
#include "tests/support/loopback.h"

namespace trainyard::bench {
namespace {

bool send_all(int fd, const std::vector<char>& data) {
  for (std::size_t at = 0; at < data.size();) {
    const ssize_t count = ::send(fd, data.data() + at, data.size() - at, MSG_NOSIGNAL);
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

bool receive_all(int fd, std::vector<char>& data) {
  for (std::size_t at = 0; at < data.size();) {
    const ssize_t count = ::recv(fd, data.data() + at, data.size() - at, 0);
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

void connect_tcp(int& near, int& far) {
  const Descriptor listener = listen_on_loopback();
  sockaddr_in address{};
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  ENSURE(::getsockname(listener.get(), generic, &length) == 0);
  near = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ENSURE(::connect(near, generic, length) == 0);
  far = ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
  ENSURE(far >= 0);
  const int on = 1;
  for (const int fd : {near, far}) ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace

EchoSocket::EchoSocket(Kind kind, std::size_t bytes) : buffer_(bytes) {
  if (kind == Kind::tcp) {
    connect_tcp(near_, far_);
  } else {
    int ends[2];
    ENSURE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    near_ = ends[0];
    far_ = ends[1];
  }
  echo_ = std::jthread([fd = far_, bytes] {
    std::vector<char> data(bytes);
    while (receive_all(fd, data) && send_all(fd, data)) {
    }
  });
}

EchoSocket::~EchoSocket() {
  ::shutdown(near_, SHUT_RDWR);
  echo_.join();
  ::close(near_);
  ::close(far_);
}

void EchoSocket::exchange() { ENSURE(send_all(near_, buffer_) && receive_all(near_, buffer_)); }

}  // namespace trainyard::bench
