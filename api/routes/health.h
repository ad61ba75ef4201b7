// The server about itself: health, version, its own metrics, and the documents that describe the
// API.
#pragma once

#include <vector>

#include "api/routes/backend.h"

namespace trainyard::api {

std::vector<Route> health_routes(Backend& backend);

}  // namespace trainyard::api
