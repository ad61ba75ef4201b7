// /v1/jobs: submitting, listing, reading, acting on and forgetting jobs.
#pragma once

#include <vector>

#include "api/routes/backend.h"

namespace trainyard::api {

std::vector<Route> job_routes(Backend& backend);

}  // namespace trainyard::api
