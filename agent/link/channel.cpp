#include "agent/link/channel.h"

#include <fcntl.h>
#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "schemas/types/agent.h"

namespace trainyard::agent {
namespace {

Reach reach_from(int error) {
  if (error == 0) return Reach::reached;
  return error == ECONNREFUSED ? Reach::refused : Reach::silent;
}

Reach probe_address(const addrinfo& address, std::chrono::milliseconds timeout) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket < 0) return Reach::silent;
  int error = 0;
  if (::connect(socket, address.ai_addr, address.ai_addrlen) != 0) {
    error = errno;
    if (error == EINPROGRESS) {
      pollfd waiting{.fd = socket, .events = POLLOUT, .revents = 0};
      socklen_t length = sizeof error;
      if (::poll(&waiting, 1, static_cast<int>(timeout.count())) != 1 ||
          ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) != 0) {
        error = ETIMEDOUT;
      }
    }
  }
  ::close(socket);
  return reach_from(error);
}

}  // namespace

std::shared_ptr<grpc::Channel> make_channel(const std::string& server) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(agent_message_bytes_max);
  arguments.SetMaxSendMessageSize(agent_message_bytes_max);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1000);  // also the time for one connect
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(server, grpc::InsecureChannelCredentials(), arguments);
}

Reach probe_server(const std::string& server, std::chrono::milliseconds timeout) {
  const std::size_t colon = server.rfind(':');
  if (colon == std::string::npos) return Reach::silent;
  std::string host = server.substr(0, colon);
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), server.c_str() + colon + 1, &wanted, &found) != 0) {
    return Reach::silent;
  }
  // Refused only if every address of the name refuses: the server may listen on any of them.
  Reach reach = Reach::refused;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) {
    const Reach one = probe_address(*address, timeout);
    if (one != Reach::refused) reach = one;
    if (one == Reach::reached) break;
  }
  ::freeaddrinfo(found);
  return reach;
}

}  // namespace trainyard::agent
