// What a model is on a data set as JSON: the answer of GET /v1/jobs/{id}/model and of a dry run.
#pragma once

#include <nlohmann/json.hpp>

#include "schemas/model/analysis.h"

namespace trainyard::model {

// Layers in the order of execution with their inputs by name, shapes, variables and costs, then
// totals and the memory of each role. FLOPs and kept bytes are of one example, memory is of one
// task. What follows from sizes that the data's files alone tell is null, as are these sizes.
// Faults are left out: the API lists them in its own way.
nlohmann::ordered_json analysis_to_json(const Analysis& analysis);

}  // namespace trainyard::model
