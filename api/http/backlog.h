// The queue of connections that nobody has accepted yet.
#pragma once

#include <cstdint>

namespace trainyard::api {

// Pistache listens with a queue of 128 whatever it is told: where more clients come at once, the
// others try again after a second, health checks too. Finds its socket by the port, and listens
// anew.
void lengthen_backlog(std::uint16_t port);

}  // namespace trainyard::api
