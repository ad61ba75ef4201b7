// /v1/jobs: lists, reading, long polls, actions.
#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "tests/api/routes/api_yard.h"

using namespace trainyard;
using namespace trainyard::api;
using nlohmann::json;

namespace {

std::string named(const std::string& name, const std::string& team) {
  json spec = json::parse(small_spec);
  spec["name"] = name;
  spec["labels"] = {{"team", team}};
  return spec.dump();
}

}  // namespace

TEST_CASE("jobs are listed newest first, in pages that miss and repeat none", "[routes]") {
  ApiYard yard;
  std::vector<std::string> made;
  for (int number = 0; number < 7; ++number) made.push_back(yard.submit());
  std::reverse(made.begin(), made.end());

  std::vector<std::string> seen;
  std::string token;
  do {
    const json page =
        yard.json(200, "GET /v1/jobs?limit=3" + (token.empty() ? token : "&page_token=" + token));
    CHECK(page.at("items").size() <= 3);
    for (const json& job : page.at("items")) seen.push_back(job.at("id"));
    const json& next = page.at("next_page_token");
    token = next.is_null() ? "" : next.get<std::string>();
    if (seen.size() == 3) yard.submit();  // a newer one moves no page
  } while (!token.empty());

  CHECK(seen == made);
}

TEST_CASE("lists are filtered by state, name and labels", "[routes]") {
  ApiYard yard;
  const std::string first = yard.submit(named("one", "vision"));
  const std::string second = yard.submit(named("two", "vision"));
  yard.submit(named("two", "speech"));
  yard.json(200, "POST /v1/jobs/" + first + "/cancel");

  const auto count = [&](const std::string& query) {
    return yard.json(200, "GET /v1/jobs?" + query).at("items").size();
  };
  CHECK(count("state=queued") == 2);
  CHECK(count("state=cancelled") == 1);
  CHECK(count("name=two") == 2);
  CHECK(count("label=team:vision") == 2);
  CHECK(count("label=team:vision&name=two&state=queued") == 1);
  CHECK(count("label=team:vision&label=team:speech") == 0);
}

TEST_CASE("a query that is unknown, doubled or of the wrong type is a 400 that names it",
          "[routes]") {
  ApiYard yard;
  const std::string id = yard.submit();

  for (const std::string& query :
       {std::string("/v1/jobs?limit=abc"), std::string("/v1/jobs?limit=0"),
        std::string("/v1/jobs?limit=1e2"), std::string("/v1/jobs?limit=5&limit=6"),
        std::string("/v1/jobs?limits=5"), std::string("/v1/jobs?state=gone"),
        std::string("/v1/jobs?label=team"), std::string("/v1/jobs?page_token=!"),
        "/v1/jobs/" + id + "?wait_version=x", "/v1/jobs/" + id + "/metrics?from_step=-1",
        "/v1/jobs/" + id + "/logs?task=worker", "/v1/jobs/" + id + "/logs?follow=1",
        "/v1/jobs/" + id + "/tasks?x=1", std::string("/v1/agents?x=1")}) {
    const json problem = yard.json(400, "GET " + query);
    INFO(query);
    const std::size_t mark = query.find('?');
    const std::string name = query.substr(mark + 1, query.find('=') - mark - 1);
    CHECK_THAT(problem.at("errors")[0].at("message").get<std::string>(),
               Catch::Contains('"' + name + '"'));
  }
}

TEST_CASE("a job that has not changed is not sent again", "[routes]") {
  ApiYard yard;
  const std::string path = "GET /v1/jobs/" + yard.submit();

  const RawResponse first = yard.call(path);
  const RawResponse second = yard.call(path, "If-None-Match: " + first.headers.at("etag") + "\r\n");

  CHECK(second.status == 304);
  CHECK(second.headers.at("etag") == first.headers.at("etag"));
}

TEST_CASE("a long poll answers when the job changes, and when time is up", "[routes]") {
  ApiYard yard;
  const std::string id = yard.submit();
  const auto version = yard.json(200, "GET /v1/jobs/" + id).at("version").get<std::int64_t>();
  const std::string newer = "GET /v1/jobs/" + id + "?wait_version=" + std::to_string(version);

  CHECK(yard.json(200, newer + "&timeout_seconds=0").at("version") == version);
  RawClient waiting(yard.address());
  waiting.request(newer);
  yard.json(200, "POST /v1/jobs/" + id + "/cancel");
  const json changed = json::parse(waiting.read().body);

  CHECK(changed.at("version") > version);
  CHECK(yard.json(404, "GET /v1/jobs/none?wait_version=0").at("code") == "not_found");
}

TEST_CASE("a long poll does not hold up the server's stop", "[routes]") {
  auto yard = std::make_unique<ApiYard>();
  RawClient waiting(yard->address());
  const std::string id = yard->submit();
  waiting.request("GET /v1/jobs/" + id + "?wait_version=1000&timeout_seconds=300");
  RawClient streaming(yard->address());
  streaming.request("GET /v1/jobs/" + id + "/events", "Accept: text/event-stream\r\n");
  CHECK(streaming.read_to_head().status == 200);

  yard.reset();

  CHECK(waiting.read().status == 503);
  CHECK(streaming.read_until("0\r\n\r\n").ends_with("0\r\n\r\n"));
}

TEST_CASE("actions are idempotent, and a conflict where the state does not allow them",
          "[routes]") {
  ApiYard yard;
  const std::string path = "/v1/jobs/" + yard.submit();

  CHECK(yard.json(200, "POST " + path + "/suspend").at("status").at("state") == "suspended");
  CHECK(yard.json(200, "POST " + path + "/suspend").at("status").at("state") == "suspended");
  CHECK(yard.json(200, "POST " + path + "/resume").at("status").at("state") == "queued");
  CHECK(yard.call("DELETE " + path).status == 409);
  CHECK(yard.json(200, "POST " + path + "/cancel").at("status").at("state") == "cancelled");
  CHECK(yard.json(200, "POST " + path + "/cancel").at("status").at("state") == "cancelled");
  CHECK(yard.call("POST " + path + "/resume").status == 409);
  CHECK(yard.call("DELETE " + path).status == 204);
  CHECK(yard.call("GET " + path).status == 404);
  CHECK(yard.call("DELETE " + path).status == 404);
  CHECK(yard.call("POST " + path + "/cancel").status == 404);
}

TEST_CASE("a job that waits is explained, and one that has ended too", "[routes]") {
  ApiYard yard;
  const std::string first = yard.submit();
  const std::string second = yard.submit();

  const json waiting = yard.json(200, "GET /v1/jobs/" + second + "/explain");
  CHECK(waiting.at("queue_position") == 2);
  CHECK(waiting.at("reason") == "NO_AGENTS");
  yard.json(200, "POST /v1/jobs/" + first + "/cancel");
  const json ended = yard.json(200, "GET /v1/jobs/" + first + "/explain");
  CHECK(ended.at("state") == "cancelled");
  CHECK(ended.at("queue_position").is_null());
  CHECK(yard.call("GET /v1/jobs/none/explain").status == 404);
}
