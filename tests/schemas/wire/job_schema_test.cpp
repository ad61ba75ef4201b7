// schemas/job.schema.json and parse_job_spec say the same, wherever a schema can say it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "schemas/model/zoo/zoo.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/schemas/json_schema.h"
#include "tests/schemas/wire/random_values.h"
#include "tests/schemas/wire/spec_corpus.h"

using namespace trainyard;
using nlohmann::json;

namespace {

json schema_document() {
  std::ifstream file("schemas/job.schema.json");
  REQUIRE(file.good());
  return json::parse(file);
}

// What the schema finds wrong; "" = nothing.
bool is_wrong(const std::string& text) {
  const ParsedJobSpec result = parse_job_spec(text);
  const auto* faults = std::get_if<std::vector<Fault>>(&result);
  return faults != nullptr && std::ranges::any_of(*faults, [](const Fault& fault) {
           return fault.kind == FaultKind::wrong;
         });
}

}  // namespace

TEST_CASE("the schema and the parser agree on good and bad specs", "[wire]") {
  const JsonSchema schema(schema_document());
  for (const auto& cases : {good_specs(), bad_specs()}) {
    for (const SpecCase& each : cases) {
      if (each.schema == SpecCase::Schema::cannot_say) continue;
      const std::string complaint = schema.complaint(json::parse(each.text));
      INFO(each.text << "\n" << complaint);
      CHECK(complaint.empty() != is_wrong(each.text));
    }
  }
}

TEST_CASE("the schema accepts every spec that the server returns", "[wire]") {
  const JsonSchema schema(schema_document());
  RandomValues random(3);
  for (int i = 0; i < 200; ++i) {
    const json value = to_json_value(random.job_spec());
    const std::string complaint = schema.complaint(value);
    INFO(value.dump() << "\n" << complaint);
    CHECK(complaint.empty());
  }
}

TEST_CASE("one member of the wrong type is refused by schema and parser alike", "[wire]") {
  const JsonSchema schema(schema_document());
  const json whole = json::parse(good_specs()[1].text);
  const json leaves = whole.flatten();
  for (const auto& [pointer, leaf] : leaves.items()) {
    json changed = whole;
    changed[json::json_pointer(pointer)] = json::array({json::object()});
    INFO(changed.dump());
    CHECK_FALSE(schema.complaint(changed).empty());
    CHECK(is_wrong(changed.dump()));
  }
}

TEST_CASE("the defaults that the schema names are those of the parser", "[wire]") {
  const json schema = schema_document();
  const ParsedJobSpec parsed = parse_job_spec(R"({"model": "mlp", "dataset": "synthetic_digits"})");
  const json spec = to_json_value(std::get<JobSpec>(parsed));
  int compared = 0;
  for (const std::string part : {"training", "scheduling", "run_policy", "checkpoint", "model"}) {
    const std::string definition = part == "model" ? "zoo_model" : part;
    for (const auto& [name, property] : schema["definitions"][definition]["properties"].items()) {
      if (!property.contains("default") || !spec[part].contains(name)) continue;
      INFO(part << "." << name);
      CHECK(property["default"] == spec[part][name]);
      ++compared;
    }
  }
  CHECK(compared >= 15);
}

TEST_CASE("the schema names every model of the zoo and each of its arguments", "[wire]") {
  const json zoo_schema = schema_document()["definitions"]["zoo_model"];
  std::vector<std::string> names;
  for (const model::ZooModel& each : model::zoo()) {
    names.emplace_back(each.name);
    std::vector<std::string> arguments{"name"};
    for (const model::ZooArgument& argument : each.arguments) {
      arguments.emplace_back(argument.name);
      CHECK(zoo_schema["properties"].contains(argument.name));
    }
    int rules = 0;
    for (const json& rule : zoo_schema["allOf"]) {
      const std::vector<std::string> of = rule["if"]["properties"]["name"]["enum"];
      if (std::ranges::find(of, each.name) == of.end()) continue;
      CHECK(rule["then"]["propertyNames"]["enum"] == json(arguments));
      ++rules;
    }
    CHECK(rules == 1);
  }
  CHECK(zoo_schema["properties"]["name"]["enum"] == json(names));
}
