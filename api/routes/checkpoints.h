// /v1/jobs/{id}/checkpoints: committed ones, and each as one safetensors file.
#pragma once

#include <vector>

#include "api/routes/backend.h"

namespace trainyard::api {

std::vector<Route> checkpoint_routes(Backend& backend);

// Which one "latest", "best" or a number means; `invalid` for what is none of these, `not_found`
// when there is none. Best is by `metric` at its checkpoints: the lowest where its name says loss
// or error, else the highest.
Result<Checkpoint> choose_checkpoint(const std::vector<Checkpoint>& checkpoints,
                                     std::string_view which, const std::string& metric);

}  // namespace trainyard::api
