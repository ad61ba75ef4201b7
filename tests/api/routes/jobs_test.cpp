// /v1/jobs: lists, reading, long polls, actions.
#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <vector>

#include "tests/api/routes/api_yard.h"
#include "tests/support/waiting.h"

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

TEST_CASE("tasks, checkpoints and agents are listed in pages that miss and repeat none",
          "[routes][mend-B9]") {
  ApiYard yard;
  RunningJob job(yard);
  job.start_again();
  for (const std::int64_t step : {100, 200, 300}) job.commit_checkpoint(step, 0.5);
  scheduler::AgentPeer second(yard.scheduler().agent_address(), "b");
  REQUIRE(second.report());
  REQUIRE(second.next());

  for (const std::string& list :
       {job.path("/tasks"), job.path("/checkpoints"), std::string("/v1/agents")}) {
    const json whole = yard.json(200, "GET " + list);
    CHECK(whole.at("next_page_token").is_null());
    for (const char* limit : {"1", "2"}) {
      json items = json::array();
      std::string token;
      do {
        const json page = yard.json(
            200, "GET " + list + "?limit=" + limit + (token.empty() ? "" : "&page_token=" + token));
        REQUIRE(page.at("items").size() <= static_cast<std::size_t>(*limit - '0'));
        REQUIRE_FALSE(page.at("items").empty());
        for (const json& item : page.at("items")) items.push_back(item);
        const json& next = page.at("next_page_token");
        token = next.is_null() ? "" : next.get<std::string>();
      } while (!token.empty());
      INFO(list);
      CHECK(items.size() == whole.at("items").size());
      for (std::size_t i = 0; i < items.size(); ++i) {
        for (const char* name : {"id", "task", "attempt", "step"}) {
          if (items[i].contains(name)) CHECK(items[i].at(name) == whole.at("items")[i].at(name));
        }
      }
    }
  }
  CHECK(yard.json(200, "GET " + job.path("/tasks")).at("items").size() == 6);
  CHECK(yard.json(200, "GET /v1/agents").at("items").size() == 2);
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

TEST_CASE("of very many unknown query parameters the first are named", "[routes]") {
  ApiYard yard;
  std::string query = "GET /v1/jobs?none0=";
  for (int i = 1; i < 100; ++i) query += "&none" + std::to_string(i) + "=";
  const json problem = yard.json(400, query);
  CHECK(problem.at("errors").size() == 20);
  CHECK(problem.at("detail") == "more than 20 query parameters are wrong");
}

TEST_CASE("a query that is unknown, doubled or of the wrong type is a 400 that names it",
          "[routes]") {
  ApiYard yard;
  const std::string id = yard.submit();

  for (const std::string& query :
       {std::string("/v1/jobs?limit=abc"),        std::string("/v1/jobs?limit=0"),
        std::string("/v1/jobs?limit=501"),        std::string("/v1/agents?limit=501"),
        std::string("/v1/agents?page_token=%20"), "/v1/jobs/" + id + "/tasks?page_token=1.boss.2",
        "/v1/jobs/" + id + "/tasks?limit=0",      "/v1/jobs/" + id + "/checkpoints?page_token=7",
        std::string("/v1/jobs?limit=1e2"),        std::string("/v1/jobs?limit=5&limit=6"),
        std::string("/v1/jobs?limits=5"),         std::string("/v1/jobs?state=gone"),
        std::string("/v1/jobs?label=team"),       std::string("/v1/jobs?page_token=!"),
        "/v1/jobs/" + id + "?wait_version=x",     "/v1/jobs/" + id + "/metrics?from_step=-1",
        "/v1/jobs/" + id + "/logs?task=worker",   "/v1/jobs/" + id + "/logs?follow=1",
        "/v1/jobs/" + id + "/tasks?x=1",          std::string("/v1/agents?x=1")}) {
    const json problem = yard.json(400, "GET " + query);
    INFO(query);
    const std::size_t mark = query.find('?');
    const std::string name = query.substr(mark + 1, query.find('=') - mark - 1);
    CHECK_THAT(problem.at("errors")[0].at("message").get<std::string>(),
               Catch::Contains('"' + name + '"'));
  }
}

TEST_CASE("a page token that no list can have given is refused, and is not the first page",
          "[routes]") {
  ApiYard yard;
  for (const std::string token : {"ffffffffffffffff", "8000000000000000", "10000000000000000"}) {
    const json problem = yard.json(400, "GET /v1/jobs?page_token=" + token);
    CHECK_THAT(problem.at("errors")[0].at("message").get<std::string>(),
               Catch::Contains("none that this server gave"));
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

TEST_CASE("a page of large jobs is limited by bytes, and the next goes on behind it",
          "[routes][mend-A6]") {
  ApiYard yard;
  const std::string spec = R"({"model": "softmax_regression", "dataset": "synthetic_digits",
      "roles": {"ps": 1, "worker": 2}, "env": {"OMP_X": ")" +
                           std::string(30'000, 'x') + R"(", "OMP_Y": ")" +
                           std::string(30'000, 'y') + "\"}}";
  constexpr std::size_t count = 80;  // 4.8 MB
  for (std::size_t at = 0; at < count; ++at) yard.submit(spec);

  const RawResponse first = yard.call("GET /v1/jobs?limit=500");
  REQUIRE(first.status == 200);
  CHECK(first.body.size() < (4 << 20) + 100'000);
  const json page = json::parse(first.body);
  REQUIRE(page.at("next_page_token").is_string());
  const std::string token = page.at("next_page_token");
  const json rest = yard.json(200, "GET /v1/jobs?limit=500&page_token=" + token);

  CHECK(rest.at("next_page_token").is_null());
  CHECK(page.at("items").size() + rest.at("items").size() == count);
  CHECK(page.at("items").back().at("id") != rest.at("items").front().at("id"));
}

TEST_CASE("a client that leaves gives its place back at once", "[routes][mend-A6]") {
  ApiYard yard;
  const std::string id = yard.submit();
  const auto watch = [&](RawClient& client, bool stream) {
    const std::string path = "GET /v1/jobs/" + id;
    return stream ? client.request(path + "/events", "Accept: text/event-stream\r\n")
                  : client.request(path + "?wait_version=1000&timeout_seconds=300");
  };
  // Each round leaves as many behind as there are places for one address.
  for (const bool stream : {true, false}) {
    for (int round = 0; round < 3; ++round) {
      std::vector<std::unique_ptr<RawClient>> clients;
      for (int at = 0; at < 128; ++at) {
        clients.push_back(std::make_unique<RawClient>(yard.address()));
        REQUIRE(watch(*clients.back(), stream));
      }
    }
  }

  CHECK(eventually([&] {
    RawClient client(yard.address());
    watch(client, true);
    return client.read_to_head().status == 200;
  }));
}
