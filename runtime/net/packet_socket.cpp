// SOCK_SEQPACKET keeps the borders of packets and says when the peer is gone.
#include "runtime/net/packet_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/net/call_failed.h"
#include "runtime/net/local_socket.h"

namespace trainyard::runtime {
namespace {

constexpr std::size_t kPacketMax = 4096;
constexpr int kBacklog = 64;

Result<Descriptor> new_socket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return call_failed("cannot make a packet socket");
  return socket;
}

bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == ::geteuid();
}

// Room for one descriptor beside a packet.
struct Beside {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
};

}  // namespace

Result<PacketSocket> PacketSocket::listen(const std::string& name) {
  TRY_ASSIGN(Descriptor socket, new_socket());
  const auto address = LocalAddress::of(name);
  if (!address || ::bind(socket.get(), address->pointer(), address->length) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return call_failed("cannot listen on the packet socket " + name);
  }
  return PacketSocket(std::move(socket));
}

Result<PacketSocket> PacketSocket::connect(const std::string& name) {
  TRY_ASSIGN(Descriptor socket, new_socket());
  const auto address = LocalAddress::of(name);
  if (!address || ::connect(socket.get(), address->pointer(), address->length) != 0) {
    return call_failed("cannot connect to the packet socket " + name);
  }
  return PacketSocket(std::move(socket));
}

std::optional<PacketSocket> PacketSocket::accept() const {
  Descriptor caller(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!caller || !is_of_this_user(caller.get())) return std::nullopt;
  return PacketSocket(std::move(caller));
}

Status PacketSocket::send(std::string_view bytes, int passed) const {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};  // NOLINT: sendmsg only reads it
  Beside beside;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (passed >= 0) {
    message.msg_control = beside.room.data();
    message.msg_controllen = beside.room.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof passed);
    std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return call_failed("cannot send");
  return ok();
}

Result<std::optional<Packet>> PacketSocket::receive() const {
  std::array<char, kPacketMax> bytes;
  iovec part{bytes.data(), bytes.size()};
  Beside beside;
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = beside.room.data();
  message.msg_controllen = beside.room.size();
  ssize_t count = 0;
  do {
    count = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::optional<Packet>();
  if (count < 0) return call_failed("cannot receive");

  Packet packet;
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int passed = -1;
    std::memcpy(&passed, CMSG_DATA(header), sizeof passed);
    packet.passed = Descriptor(passed);
  }
  if (count == 0) return unavailable("the peer is gone");  // no packet of ours is empty
  if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return invalid("a packet too large");
  packet.bytes.assign(bytes.data(), static_cast<std::size_t>(count));
  return std::optional<Packet>(std::move(packet));
}

}  // namespace trainyard::runtime
