// How this agent reaches its server: one place for addresses, limits and back-off.
#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <string>

namespace trainyard::agent {

// A connection of its own: what goes over one never waits for the other.
std::shared_ptr<grpc::Channel> make_channel(const std::string& server);

enum class Reach {
  reached,  // somebody accepts connections there
  refused,  // the host is there and says that nobody listens
  silent,   // no answer, no route or no such host: it may be a partition
};

// Opens and closes a plain TCP connection to HOST:PORT; waits at most `timeout` for an address.
Reach probe_server(const std::string& server, std::chrono::milliseconds timeout);

}  // namespace trainyard::agent
