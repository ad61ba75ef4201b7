// Options are few. TCP's buffers grow by themselves: sizes of ours made nothing faster on loopback,
// and would be a bound on long ways.
#include "runtime/net/stream_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/net/call_failed.h"
#include "runtime/net/local_socket.h"
#include "runtime/net/waiting.h"

namespace trainyard::runtime {
namespace {

constexpr int port_max = 65'535;

// A peer whose host is gone is noticed within half a minute, while data is under way and without.
constexpr int keepalive_idle_seconds = 10;
constexpr int keepalive_step_seconds = 5;
constexpr int keepalive_probes = 4;
constexpr int unanswered_millis = 30'000;

// A Unix socket has room to send again when three quarters of its buffer are read. With the
// system's own 208 KiB the reader is done before the writer is awake: 1 MiB was up to 1.9 times as
// fast, 2 MiB no more.
constexpr int unix_buffer_bytes = 1 << 20;

Result<Descriptor> new_socket(int family) {
  Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return call_failed("cannot make a stream socket");
  return socket;
}

void set(int socket, int level, int option, int value) {
  // One that is not to be had costs speed or time to notice a loss, nothing else.
  static_cast<void>(::setsockopt(socket, level, option, &value, sizeof value));
}

// Frames leave at once.
void prepare_tcp(int socket) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle_seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, keepalive_step_seconds);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, keepalive_probes);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, unanswered_millis);
}

void prepare_unix(int socket) { set(socket, SOL_SOCKET, SO_SNDBUF, unix_buffer_bytes); }

// "10.0.0.1:20001", "[::1]:20001" or "host:20001"; nothing where there is no port.
std::optional<std::string> host_of(const std::string& address) {
  const auto colon = address.rfind(':');
  if (colon == std::string::npos || address.find('/') != std::string::npos) return std::nullopt;
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return host;
}

Status check_port(int port) {
  if (port >= 0 && port <= port_max) return ok();
  return invalid("there is no port " + std::to_string(port));
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<Addresses> find_addresses(const std::string& host, int port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  const int failure =
      ::getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found);
  if (failure != 0) return unavailable("no address of " + host + ": " + ::gai_strerror(failure));
  return Addresses(found, &::freeaddrinfo);
}

Status listened(int result) {
  if (result == 0) return ok();
  if (errno == EADDRINUSE) return conflict("another program holds it");
  return call_failed("cannot listen");
}

Status bind_to(const Descriptor& socket, const sockaddr* address, socklen_t length) {
  return listened(::bind(socket.get(), address, length));
}

// As gRPC does: who listens on all interfaces is there for callers of both families.
Result<Descriptor> bind_everywhere(int port) {
  TRY_ASSIGN(Descriptor socket, new_socket(AF_INET6));
  set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  any.sin6_addr = in6addr_any;
  any.sin6_port = htons(static_cast<std::uint16_t>(port));
  TRY(bind_to(socket, reinterpret_cast<const sockaddr*>(&any), sizeof any));
  return socket;
}

Status wait_until_connected(int socket, StreamSocket::Clock::time_point deadline,
                            const std::stop_token& stop) {
  for (;;) {
    pollfd waiting{.fd = socket, .events = POLLOUT, .revents = 0};
    if (::poll(&waiting, 1, look_up_millis) > 0) break;
    if (stop.stop_requested()) return unavailable("asked to stop");
    if (StreamSocket::Clock::now() > deadline) return unavailable("no answer in time");
  }
  int error = 0;
  socklen_t length = sizeof error;
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return unavailable(std::generic_category().message(error));
  return ok();
}

bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == ::geteuid();
}

// Room for one descriptor beside the bytes of a message.
class BesideBytes {
 public:
  // For one and no more: rounded up, as CMSG_SPACE has it, there would be room for two.
  void make_room(msghdr& message) {
    message.msg_control = room_.data();
    message.msg_controllen = CMSG_LEN(sizeof(int));
  }
  void pass(int descriptor, msghdr& message) {
    make_room(message);
    message.msg_controllen = room_.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  // What has come; the kernel closes those that there was no room for.
  static Descriptor passed(const msghdr& message) {
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    const bool is_there =
        header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS;
    if (!is_there) return {};
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return Descriptor(descriptor);
  }

 private:
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room_{};
};

bool is_for_later(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

}  // namespace

int port_of(const std::string& address) {
  int port = 0;
  const auto colon = address.rfind(':');
  if (colon == std::string::npos) return 0;
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  return port;
}

Result<StreamSocket> StreamSocket::listen_unix(const std::string& name) {
  TRY_ASSIGN(Descriptor socket, new_socket(AF_UNIX));
  const auto address = LocalAddress::of(name);
  if (!address) return invalid("no name of a socket: " + name);
  TRY(bind_to(socket, address->pointer(), address->length));
  TRY(listened(::listen(socket.get(), SOMAXCONN)));
  return StreamSocket(std::move(socket));
}

Result<StreamSocket> StreamSocket::listen_tcp(const std::string& address, int port) {
  TRY_ASSIGN(StreamSocket socket, bind_tcp(address, port));
  TRY(socket.start_listening());
  return socket;
}

Status StreamSocket::start_listening() const {
  const Status listening = listened(::listen(socket_.get(), SOMAXCONN));
  if (listening.has_value()) return ok();
  return Error{listening.error().code,
               "port " + std::to_string(port()) + ": " + listening.error().message};
}

Result<StreamSocket> StreamSocket::bind_tcp(const std::string& address, int port) {
  const auto host = host_of(address);
  if (!host) return invalid("no host and port: " + address);
  TRY(check_port(port));
  if (host->empty() || *host == "0.0.0.0" || *host == "::") {
    auto socket = bind_everywhere(port);
    if (socket.has_value()) return StreamSocket(*std::move(socket));
  }
  TRY_ASSIGN(const Addresses found, find_addresses(*host, port, AI_PASSIVE));
  TRY_ASSIGN(Descriptor socket, new_socket(found->ai_family));
  // Connections of the process that listened here before do not keep the port.
  set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  const Status bound = bind_to(socket, found->ai_addr, found->ai_addrlen);
  if (bound.has_value()) return StreamSocket(std::move(socket));
  const std::string where = "port " + std::to_string(port) + " of " + *host + ": ";
  return Error{bound.error().code, where + bound.error().message};
}

Result<StreamSocket> StreamSocket::connect_unix(const std::string& name) {
  TRY_ASSIGN(Descriptor socket, new_socket(AF_UNIX));
  const auto address = LocalAddress::of(name);
  if (!address || ::connect(socket.get(), address->pointer(), address->length) != 0) {
    return call_failed("cannot connect to the Unix socket " + name);
  }
  prepare_unix(socket.get());
  return StreamSocket(std::move(socket));
}

Result<StreamSocket> StreamSocket::connect_tcp(const std::string& address, int port,
                                               Clock::time_point deadline,
                                               const std::stop_token& stop) {
  const auto host = host_of(address);
  if (!host) return invalid("no host and port: " + address);
  TRY(check_port(port));
  TRY_ASSIGN(const Addresses found, find_addresses(*host, port, 0));
  Error last = unavailable("no address of " + *host);
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    TRY_ASSIGN(Descriptor socket, new_socket(each->ai_family));
    prepare_tcp(socket.get());
    const bool at_once = ::connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0;
    if (at_once) return StreamSocket(std::move(socket));
    if (errno != EINPROGRESS) {
      last = call_failed("cannot connect");
      continue;
    }
    const Status connected = wait_until_connected(socket.get(), deadline, stop);
    if (connected.has_value()) return StreamSocket(std::move(socket));
    last = connected.error();
  }
  return unavailable("port " + std::to_string(port) + " of " + *host + ": " + last.message);
}

std::optional<StreamSocket> StreamSocket::accept() const {
  Descriptor caller(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!caller) return std::nullopt;  // errno says why
  if (!is_unix()) {
    prepare_tcp(caller.get());
    return StreamSocket(std::move(caller));
  }
  if (!is_of_this_user(caller.get())) return std::nullopt;
  prepare_unix(caller.get());
  return StreamSocket(std::move(caller));
}

bool StreamSocket::is_unix() const {
  int domain = 0;
  socklen_t length = sizeof domain;
  return ::getsockopt(socket_.get(), SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 &&
         domain == AF_UNIX;
}

int StreamSocket::port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  }
  if (address.ss_family == AF_INET) {
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }
  return 0;
}

Result<std::size_t> StreamSocket::send(std::span<const iovec> pieces, int passed) const {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces.data());  // NOLINT: sendmsg only reads it
  message.msg_iovlen = pieces.size();
  BesideBytes beside;
  if (passed >= 0) beside.pass(passed, message);
  ssize_t count = 0;
  do {
    count = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  } while (count < 0 && errno == EINTR);
  if (count >= 0) return static_cast<std::size_t>(count);
  if (is_for_later(errno)) return std::size_t{0};
  return call_failed("cannot send");
}

Result<std::size_t> StreamSocket::receive(std::span<const iovec> places) const {
  msghdr message{};
  return receive(places, message);
}

Result<std::size_t> StreamSocket::receive(std::span<const iovec> places, Descriptor& passed) const {
  msghdr message{};
  BesideBytes beside;
  beside.make_room(message);
  auto count = receive(places, message);
  if (auto come = BesideBytes::passed(message)) passed = std::move(come);
  return count;
}

Result<std::size_t> StreamSocket::receive(std::span<const iovec> places, msghdr& message) const {
  message.msg_iov = const_cast<iovec*>(places.data());  // NOLINT: recvmsg only reads it
  message.msg_iovlen = places.size();
  ssize_t count = 0;
  do {
    count = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count > 0) return static_cast<std::size_t>(count);
  if (count == 0) return unavailable("the peer is gone");
  if (is_for_later(errno)) return std::size_t{0};
  return call_failed("cannot receive");
}

void StreamSocket::keep_unsent_below(int bytes) const {
  set(socket_.get(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, bytes);
}

void StreamSocket::wake_at(int bytes) const {
  set(socket_.get(), SOL_SOCKET, SO_RCVLOWAT, bytes);
}

}  // namespace trainyard::runtime
