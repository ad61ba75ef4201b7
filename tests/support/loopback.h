// Sockets of 127.0.0.1: to hold a port, to find a free one, to be called by what is tested.
#pragma once

#include "schemas/base/descriptor.h"

namespace trainyard {

// Bound and not listening; nothing where another program holds the port. 0 = of the system's
// choice.
Descriptor bind_to_loopback(int port = 0);
// At a port of the system's choice. Throws when there is none.
Descriptor listen_on_loopback();
// Of a socket that is bound.
int port_of_socket(const Descriptor& socket);

}  // namespace trainyard
