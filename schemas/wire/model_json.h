// The model language <-> JSON: a job's "model" as it is written. Reading notes each fault with its
// pointer and decides nothing: what the layers mean, schemas/model says.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "schemas/base/fault.h"
#include "schemas/model/written.h"
#include "schemas/model/zoo/zoo.h"

namespace trainyard::model {

// A zoo's name, {"name", its arguments} or {"layers", …}. Nothing where a fault was noted, at
// `pointer` ("/model") or below; at most 101 are. More than 64 KiB is refused before anything is
// made of it.
std::optional<Written> parse_model(const nlohmann::json& value, const std::string& pointer,
                                   std::vector<Fault>& faults);

// The same JSON again, with "op" and "name" first: what parse_model reads as the same model.
nlohmann::ordered_json model_to_json(const Written& written);

// Arguments as they stand in a layer; integers without a point.
nlohmann::ordered_json arguments_to_json(const Arguments& arguments);

// model_to_json for people, who may edit it: a layer a line wherever it fits into 100 columns. Ends
// with a new line.
std::string print_model(const Written& written);

// What GET /v1/models says of a model of the zoo: its description, its arguments each with kind,
// default and bounds, and the facts of a data set that it asks for.
nlohmann::ordered_json zoo_model_to_json(const ZooModel& zoo_model);

}  // namespace trainyard::model
