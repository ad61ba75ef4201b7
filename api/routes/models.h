// GET /v1/models, /v1/models/{name} and /v1/jobs/{id}/model.
#pragma once

#include <vector>

#include "api/routes/backend.h"

namespace trainyard::api {

std::vector<Route> model_routes(Backend& backend);

}  // namespace trainyard::api
