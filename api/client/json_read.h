// Reading answers of the server: a field that is missing, null or of another type reads as "not
// there", so that a client goes on working beside a newer or an older server.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "schemas/base/time.h"

namespace trainyard::client {

// The member, or a null value that lives for ever.
const nlohmann::json& member_of(const nlohmann::json& object, const char* key);
std::string text_of(const nlohmann::json& object, const char* key);
std::optional<double> number_of(const nlohmann::json& object, const char* key);
std::optional<std::int64_t> integer_of(const nlohmann::json& object, const char* key);
WallTime time_of(const nlohmann::json& object, const char* key);
// The member if it is an array, else an empty one.
const nlohmann::json& list_of(const nlohmann::json& object, const char* key);

}  // namespace trainyard::client
