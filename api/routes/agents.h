// /v1/agents: the hosts, their slots and what occupies them.
#pragma once

#include <vector>

#include "api/routes/backend.h"

namespace trainyard::api {

std::vector<Route> agent_routes(Backend& backend);

}  // namespace trainyard::api
