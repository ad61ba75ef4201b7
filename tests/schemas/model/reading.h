// Models from JSON and data sets by name, for the tests of the model language.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schemas/model/analysis.h"

namespace trainyard::model {

// "cifar", "birds", "reviews", "lines", "web", "criteo", "ratings", "digits", "numbers",
// "vectors", "tokens", ...: as the files of these data sets would say. Others: a failure.
Facts facts_of(const std::string& dataset);

// The model of the JSON as a whole; one that is no model fails the test.
Written read_written(const nlohmann::json& json);

// Read and analysed; the faults of both.
Analysis analyse_json(const nlohmann::json& json, const Facts& facts, const Setting& setting = {});

// "tests/schemas/model/" and the name.
std::string read_text_file(const std::string& name);
nlohmann::json read_json_file(const std::string& name);

// "/model/layers/0: must be …" of all of them, a line each.
std::string to_lines(const std::vector<Fault>& faults);

}  // namespace trainyard::model
