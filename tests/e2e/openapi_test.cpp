// The OpenAPI document is true: every request example in it is replayed against a running server.
#include <catch2/catch.hpp>

#include "tests/e2e/yard.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

std::string with_id(std::string path, const std::string& job, const std::string& agent) {
  const std::string marker = "{id}";
  const std::size_t at = path.find(marker);
  if (at != std::string::npos) {
    path.replace(at, marker.size(), path.starts_with("/v1/agents") ? agent : job);
  }
  const std::size_t step = path.find("{step}");
  if (step != std::string::npos) path.replace(step, 6, "latest");
  return path;
}

bool is_documented(const nlohmann::json& operation, long status) {
  const auto& responses = operation.at("responses");
  const std::string exact = std::to_string(status);
  return responses.contains(exact) || responses.contains(exact.substr(0, 1) + "XX") ||
         responses.contains("default");
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

  const nlohmann::json paths = document.json().at("paths");
  for (const auto& [path, operations] : paths.items()) {
    if (path == "/") continue;
    for (const std::string method : {"get", "post"}) {
      if (!operations.contains(method)) continue;
      const auto& operation = operations.at(method);
      const Answer answer = send({.method = method == "get" ? "GET" : "POST",
                                  .url = yard.url(with_id(path, id, "a")),
                                  .body = {},
                                  .headers = {}});
      INFO(method << " " << path << " -> " << answer.status << " " << answer.body.substr(0, 300));
      CHECK(answer.status != 0);
      CHECK(answer.status != 404);
      CHECK(answer.status != 500);
      CHECK(is_documented(operation, answer.status));
    }
  }
}

TEST_CASE("each job example of the OpenAPI document is accepted", "[e2e]") {
  Yard yard;
  yard.start_agent("a", {"--cpus", "64", "--memory-mb", "262144", "--gpus", "8"});
  yard.wait_for_agents(1);
  const auto document = get(yard.url("/openapi.json")).json();
  const auto& content =
      document.at("paths").at("/v1/jobs").at("post").at("requestBody").at("content");
  const auto& examples = content.at("application/json").at("examples");
  REQUIRE(examples.size() >= 2);

  for (const auto& [name, example] : examples.items()) {
    const Answer answer = post(yard.url("/v1/jobs?dry_run=true"), example.at("value").dump());
    INFO(name << ": " << answer.body);
    CHECK(answer.status == 200);
  }
}
