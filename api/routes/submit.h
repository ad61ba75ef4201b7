// POST /v1/jobs: the only way in for a spec. Past this file a bad spec cannot exist.
#pragma once

#include "api/routes/backend.h"

namespace trainyard::api {

void submit_job(Backend& backend, const Request& request, const Responder& responder);

}  // namespace trainyard::api
