// A model as the server spelled it out, in a few lines: layers with their shapes and parameters,
// what an example costs, and the memory of a task of each role.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace trainyard::client {

// Of a ModelAnalysis of the API; "" where it is none. Sizes that only the data's files tell are
// "?". Of many layers the first and the last ones.
std::string model_lines(const nlohmann::json& model);

}  // namespace trainyard::client
