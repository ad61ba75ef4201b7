// Where tasks can listen: looked at before a task is started, so that what is wrong with a port or
// an address is said as that, and not found out by the task.
#pragma once

#include <optional>
#include <string>

#include "schemas/base/result.h"

namespace trainyard::agent {

// By listening there for a moment. Port 0: whether any port of the host can be had. Conflict:
// another program holds the port.
Status try_to_listen(const std::string& host, int port);

// "127.0.0.1:20001" at another host of the same port; "" stays "".
std::string at_host(const std::string& address, const std::string& host);

// The port of "127.0.0.1:20001"; 0 where there is none.
int port_of(const std::string& address);

struct PortRange {
  int first = 0;
  int last = 0;
};
// From which the system takes the ports of outgoing connections; nothing where it does not tell.
std::optional<PortRange> ephemeral_ports();

}  // namespace trainyard::agent
