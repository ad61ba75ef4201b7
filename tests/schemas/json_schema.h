// Values against a JSON Schema, for the tests that hold answers and specs against their documents.
// Behind a wall: the validator's headers take a minute to compile.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace trainyard {

class JsonSchema {
 public:
  explicit JsonSchema(const nlohmann::json& document);
  ~JsonSchema();
  JsonSchema(const JsonSchema&) = delete;
  JsonSchema& operator=(const JsonSchema&) = delete;

  // What is wrong with the value; "" = nothing.
  [[nodiscard]] std::string complaint(const nlohmann::json& value) const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

// The same by a schema of an OpenAPI document, whose references point into the document.
std::string complaint(const nlohmann::json& openapi, const nlohmann::json& schema,
                      const nlohmann::json& value);

}  // namespace trainyard
