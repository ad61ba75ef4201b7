// /v1/jobs/{id}/logs: what a task wrote, as plain text.
#pragma once

#include <vector>

#include "api/routes/backend.h"

namespace trainyard::api {

std::vector<Route> log_routes(Backend& backend);

}  // namespace trainyard::api
