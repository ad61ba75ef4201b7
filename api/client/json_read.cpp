#include "api/client/json_read.h"

#include "schemas/wire/run_event_json.h"

namespace trainyard::client {

const nlohmann::json& member_of(const nlohmann::json& object, const char* key) {
  static const nlohmann::json nothing;
  if (!object.is_object()) return nothing;
  const auto found = object.find(key);
  return found == object.end() ? nothing : *found;
}

std::string text_of(const nlohmann::json& object, const char* key) {
  const nlohmann::json& member = member_of(object, key);
  return member.is_string() ? member.get<std::string>() : "";
}

std::optional<double> number_of(const nlohmann::json& object, const char* key) {
  const nlohmann::json& member = member_of(object, key);
  if (!member.is_number()) return std::nullopt;
  return member.get<double>();
}

std::optional<std::int64_t> integer_of(const nlohmann::json& object, const char* key) {
  const nlohmann::json& member = member_of(object, key);
  if (!member.is_number_integer()) return std::nullopt;
  return member.get<std::int64_t>();
}

WallTime time_of(const nlohmann::json& object, const char* key) {
  const Result<WallTime> time = parse_rfc3339(text_of(object, key));
  return time ? *time : WallTime{};
}

const nlohmann::json& list_of(const nlohmann::json& object, const char* key) {
  static const nlohmann::json empty = nlohmann::json::array();
  const nlohmann::json& member = member_of(object, key);
  return member.is_array() ? member : empty;
}

}  // namespace trainyard::client
