#include "tests/schemas/json_schema.h"

#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

namespace trainyard {

struct JsonSchema::Parts {
  nlohmann::json document;
  valijson::Schema rules;
  valijson::Validator validator;
};

JsonSchema::JsonSchema(const nlohmann::json& document) : parts_(std::make_unique<Parts>()) {
  parts_->document = document;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(parts_->document),
                                          parts_->rules);
}

JsonSchema::~JsonSchema() = default;

std::string JsonSchema::complaint(const nlohmann::json& value) const {
  valijson::ValidationResults results;
  const valijson::adapters::NlohmannJsonAdapter target(value);
  if (parts_->validator.validate(parts_->rules, target, &results)) return "";
  std::string text = "invalid";
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& step : error.context) text += step;
    text += ": " + error.description + "\n";
  }
  return text;
}

std::string complaint(const nlohmann::json& openapi, const nlohmann::json& schema,
                      const nlohmann::json& value) {
  nlohmann::json document = schema;
  document["components"] = openapi.at("components");
  return JsonSchema(document).complaint(value);
}

}  // namespace trainyard
