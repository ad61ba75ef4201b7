// What belongs to one job: its tasks, its cluster spec, why it is where it is, its metrics.
#pragma once

#include <vector>

#include "api/routes/backend.h"

namespace trainyard::api {

std::vector<Route> job_detail_routes(Backend& backend);

}  // namespace trainyard::api
