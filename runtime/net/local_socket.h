// The abstract Unix socket by which workers on the ps' own host are served: half the CPU time per
// byte of loopback TCP. Its name is drawn at random and told by Describe, so whoever can connect to
// it is on the same host.
#pragma once

#include <string>

namespace trainyard::runtime {

std::string new_local_socket_name();

// What gRPC calls it.
std::string local_socket_address(const std::string& name);

// True when a process of this host listens on it.
bool answers_here(const std::string& name);

}  // namespace trainyard::runtime
