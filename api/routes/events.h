// /v1/jobs/{id}/events: the timeline as pages, or as a stream of events and metrics.
#pragma once

#include <vector>

#include "api/routes/backend.h"

namespace trainyard::api {

std::vector<Route> event_routes(Backend& backend);

}  // namespace trainyard::api
