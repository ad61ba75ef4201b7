// The OpenAPI document is true: every operation and every request example in it is replayed against
// a running server, and what comes back is held against what it says.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <map>

#include "tests/e2e/yard.h"
#include "tests/schemas/json_schema.h"

using namespace trainyard;
using namespace trainyard::e2e;
using nlohmann::json;

namespace {

std::string with_id(std::string path, const std::string& job, const std::string& agent) {
  const std::string marker = "{id}";
  const std::size_t at = path.find(marker);
  if (at != std::string::npos) {
    path.replace(at, marker.size(), path.starts_with("/v1/agents") ? agent : job);
  }
  const std::size_t step = path.find("{step}");
  if (step != std::string::npos) path.replace(step, 6, "latest");
  const std::size_t model = path.find("{name}");
  if (model != std::string::npos) path.replace(model, 6, "mlp");
  return path;
}

// What the document says of this status of an operation; null when it names it not at all. The
// "default" response does not count: it would document anything.
json response_of(const json& openapi, const json& operation, long status) {
  const json& responses = operation.at("responses");
  const auto found = responses.find(std::to_string(status));
  if (found == responses.end()) return nullptr;
  if (!found->contains("$ref")) return *found;
  return openapi.at(json::json_pointer(found->at("$ref").get<std::string>().substr(1)));
}

// The status is documented, and the body has a documented type and follows its schema.
void check_documented(const json& openapi, const json& operation, const Answer& answer) {
  INFO(operation.at("operationId") << " -> " << answer.status << " " << answer.body.substr(0, 300));
  const json response = response_of(openapi, operation, answer.status);
  REQUIRE_FALSE(response.is_null());
  if (!response.contains("content")) {
    CHECK(answer.body.empty());
    return;
  }
  const std::string given = answer.headers.at("content-type");
  const std::string type = given.substr(0, given.find(';'));
  INFO(type);
  const json& content = response.at("content");
  REQUIRE(content.contains(type));
  if (type.ends_with("json")) {
    CHECK(complaint(openapi, content.at(type).at("schema"), answer.json()) == "");
  }
}

// What a job that has succeeded and an agent that is ready answer: 200, but for these.
long expected_status(const std::string& operation_id) {
  static const std::map<std::string, long> others{{"submitJob", 400},  // without a body
                                                  {"cancelJob", 409},  {"suspendJob", 409},
                                                  {"resumeJob", 409},  {"deleteJob", 204},
                                                  {"deleteAgent", 409}};
  const auto found = others.find(operation_id);
  return found == others.end() ? 200 : found->second;
}

}  // namespace

TEST_CASE("each operation of the OpenAPI document answers as documented", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const Answer document = get(yard.url("/openapi.json"));
  REQUIRE(document.status == 200);
  const std::string id = yard.submit(small_job(300));
  yard.wait_for_state(id, "succeeded");

  const json openapi = document.json();
  for (const std::string method : {"get", "post", "delete"}) {  // the job goes last
    for (const auto& [path, operations] : openapi.at("paths").items()) {
      if (!operations.contains(method)) continue;
      const json& operation = operations.at(method);
      const bool has_ui = slowness == 1;  // sanitized builds come without it
      if (operation.at("operationId") == "getUi" && !has_ui) continue;
      std::string verb = method;
      std::ranges::transform(verb, verb.begin(), [](unsigned char c) { return std::toupper(c); });
      const Answer answer = send(
          {.method = verb, .url = yard.url(with_id(path, id, "a")), .body = {}, .headers = {}});
      CHECK(answer.status == expected_status(operation.at("operationId")));
      check_documented(openapi, operation, answer);
    }
  }
}

TEST_CASE("each request example of the OpenAPI document is planned and stored", "[e2e]") {
  Yard yard;
  yard.start_agent("a", {"--cpus", "64", "--memory-mb", "262144", "--gpus", "8"});
  yard.wait_for_agents(1);
  const json openapi = get(yard.url("/openapi.json")).json();
  const json& operation = openapi.at("paths").at("/v1/jobs").at("post");
  const json& content = operation.at("requestBody").at("content").at("application/json");
  REQUIRE(content.at("examples").size() >= 2);

  for (const auto& [name, example] : content.at("examples").items()) {
    INFO(name);
    const std::string body = example.at("value").dump();
    CHECK(complaint(openapi, content.at("schema"), example.at("value")) == "");
    const Answer planned = post(yard.url("/v1/jobs?dry_run=true"), body);
    CHECK(planned.status == 200);
    check_documented(openapi, operation, planned);
    const Answer stored = post(yard.url("/v1/jobs"), body);
    CHECK(stored.status == 201);
    check_documented(openapi, operation, stored);
    post(yard.url("/v1/jobs/" + stored.json().at("id").get<std::string>() + "/cancel"));
  }
}
