// A value against a schema of the OpenAPI document, for the tests that read it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace trainyard {

// What is wrong with the value by this schema of the document; "" = nothing.
inline std::string complaint(const nlohmann::json& openapi, nlohmann::json schema,
                             const nlohmann::json& value) {
  schema["components"] = openapi.at("components");
  valijson::Schema rules;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), rules);
  valijson::ValidationResults results;
  valijson::Validator validator;
  const valijson::adapters::NlohmannJsonAdapter target(value);
  if (validator.validate(rules, target, &results)) return "";
  std::string text = "invalid";
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& step : error.context) text += step;
    text += ": " + error.description + "\n";
  }
  return text;
}

}  // namespace trainyard
