// POST /v1/jobs: what is taken, what is refused and how.
#include <catch2/catch.hpp>
#include <random>

#include "tests/api/routes/api_yard.h"
#include "tests/schemas/wire/hostile_specs.h"

using namespace trainyard;
using namespace trainyard::api;
using nlohmann::json;

TEST_CASE("a submitted job is there at once, under the address that the answer names", "[routes]") {
  ApiYard yard;

  const RawResponse made = yard.call("POST /v1/jobs", "", small_spec);

  REQUIRE(made.status == 201);
  const json job = json::parse(made.body);
  CHECK(made.headers.at("location") == "/v1/jobs/" + job.at("id").get<std::string>());
  CHECK(made.headers.at("etag") == "\"1\"");
  CHECK(job.at("status").at("state") == "queued");
  CHECK(job.at("spec").at("training").at("batch_size") == 100);
  const json found = yard.json(200, "GET " + made.headers.at("location"));
  CHECK(found.at("spec") == job.at("spec"));
  CHECK(found.at("spec_hash") == job.at("spec_hash"));
}

TEST_CASE("a dry run plans and stores nothing", "[routes]") {
  ApiYard yard;

  const json plan = yard.json(200, "POST /v1/jobs?dry_run=true", small_spec);

  CHECK(plan.at("spec").at("mode") == "sync");
  CHECK(plan.at("spec_hash").get<std::string>().size() == 64);
  CHECK(plan.at("plan").at("placeable_now") == false);
  CHECK(yard.json(200, "GET /v1/jobs").at("items").empty());
  for (const char* query : {"dry_run=maybe", "dry_run=", "dry_run"}) {
    CHECK(yard.call("POST /v1/jobs?" + std::string(query), "", small_spec).status == 400);
  }
  CHECK(yard.json(200, "GET /v1/jobs").at("items").empty());
}

TEST_CASE("a repeated idempotency key makes one job, and with another body a conflict",
          "[routes]") {
  ApiYard yard;
  const std::string key = "Idempotency-Key: once\r\n";

  const json first = json::parse(yard.call("POST /v1/jobs", key, small_spec).body);
  const RawResponse second = yard.call("POST /v1/jobs", key, small_spec);
  const RawResponse other =
      yard.call("POST /v1/jobs", key, R"({"model": "mlp", "dataset": "synthetic_digits"})");

  CHECK(second.status == 201);
  CHECK(json::parse(second.body).at("id") == first.at("id"));
  CHECK(other.status == 409);
  CHECK_THAT(json::parse(other.body).at("detail").get<std::string>(),
             Catch::Matchers::EndsWith("which made job " + first.at("id").get<std::string>()));
  CHECK(yard.json(200, "GET /v1/jobs").at("items").size() == 1);
  const std::string long_key = "Idempotency-Key: " + std::string(256, 'k') + "\r\n";
  CHECK(yard.call("POST /v1/jobs", long_key, small_spec).status == 400);
  CHECK(yard.call("POST /v1/jobs", "Idempotency-Key:\r\n", small_spec).status == 400);
}

TEST_CASE("every fault of a spec is in one answer, with its pointer", "[routes]") {
  ApiYard yard;

  const RawResponse refused = yard.call("POST /v1/jobs", "", R"({"model": "none", "mode": 7,
      "dataset": "synthetic_digits", "roles": {"ps": -1, "worker": "two"}, "unknown": true})");

  REQUIRE(refused.status == 422);
  CHECK(refused.headers.at("content-type") == "application/problem+json");
  const json problem = json::parse(refused.body);
  CHECK(problem.at("code") == "invalid_spec");
  CHECK(problem.at("status") == 422);
  std::set<std::string> pointers;
  for (const json& fault : problem.at("errors")) pointers.insert(fault.at("pointer"));
  for (const char* wanted : {"/model", "/mode", "/roles/ps", "/roles/worker", "/unknown"}) {
    INFO(wanted);
    CHECK(pointers.contains(wanted));
  }
}

TEST_CASE("what is part of the contract but not built yet is a 501", "[routes]") {
  ApiYard yard;

  const json problem = yard.json(501, "POST /v1/jobs", R"({"model": "mlp",
      "dataset": "synthetic_digits", "roles": {"ps": 1, "worker": 2, "evaluator": 1}})");

  CHECK(problem.at("code") == "not_available");
  CHECK_FALSE(problem.at("errors").empty());
  CHECK(yard.json(404, "POST /v1/agents/a1/drain").at("code") == "not_found");
}

TEST_CASE("hostile bodies get the right refusal and leave no job", "[routes][hostile]") {
  ApiYard yard;
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const std::pair<std::string, int> bodies[] = {
      {"", 400},
      {"{", 400},
      {"nul", 400},
      {"{\"model\": \"\xff\xfe\"}", 400},
      {"\xef\xbb\xbf{}", 0},
      {"[]", 422},
      {"null", 422},
      {"{}", 422},
      {deep, 0},
      {R"({"model": 1e999, "dataset": "synthetic_digits"})", 0},
      {R"({"model": "mlp", "dataset": "synthetic_digits",
           "training": {"batch_size": 99999999999999999999}})",
       422},
      {R"({"model": "mlp", "model": "mlp", "dataset": "synthetic_digits"})", 422},
      {std::string(1'048'577, ' '), 413},
  };

  for (const auto& [body, status] : bodies) {
    RawClient client(yard.address());
    client.send("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: " +
                std::to_string(body.size()) + "\r\n\r\n" + body);
    const RawResponse refused = client.read();
    INFO(body.substr(0, 60) << " -> " << refused.status);
    CHECK(refused.status >= 400);
    CHECK(refused.status < 500);
    if (status != 0) CHECK(refused.status == status);
    CHECK(refused.headers.at("content-type") == "application/problem+json");
    CHECK(json::accept(refused.body));
  }
  CHECK(yard.json(200, "GET /v1/jobs").at("items").empty());
}

TEST_CASE("a thousand specs with random damage are each answered", "[routes][hostile]") {
  ApiYard yard;
  std::mt19937 dice(7);
  RawClient client(yard.address());
  int made = 0;

  for (int round = 0; round < 1000; ++round) {
    std::string body = small_spec;
    for (auto change = 1 + dice() % 3; change > 0; --change) {
      body[dice() % body.size()] = static_cast<char>(dice());
    }
    const RawResponse answer = client.call("POST /v1/jobs", "", body);
    INFO(body << " -> " << answer.status << " " << answer.body);
    REQUIRE((answer.status == 201 || answer.status == 400 || answer.status == 422));
    REQUIRE(json::accept(answer.body));
    made += answer.status == 201 ? 1 : 0;
  }

  CHECK(made < 1000);
  CHECK(yard.json(200, "GET /readyz").at("status") == "ready");
}

TEST_CASE("whatever a number of a spec is, submit and dry run answer and the server lives",
          "[routes][hostile][mend-A1]") {
  ApiYard yard;
  RawClient client(yard.address());

  for (const HostileSpec& spec : specs_with_one_changed()) {
    for (const char* call : {"POST /v1/jobs", "POST /v1/jobs?dry_run=true"}) {
      const RawResponse answer = client.call(call, "", spec.text);
      INFO(call << " " << spec.text << " -> " << answer.status << " " << answer.body);
      REQUIRE((answer.status == 422 || (!spec.is_refused && answer.status / 100 == 2)));
    }
  }

  CHECK(yard.json(200, "GET /readyz").at("status") == "ready");
}

TEST_CASE("one key and the same spec written otherwise is the same request", "[routes][mend-B12]") {
  ApiYard yard;
  const std::string key = "Idempotency-Key: once\r\n";

  const json first = json::parse(yard.call("POST /v1/jobs", key,
                                           R"({"model": "softmax_regression",
          "dataset": "synthetic_digits", "roles": {"ps": 1, "worker": 2}})")
                                     .body);
  const RawResponse again = yard.call("POST /v1/jobs", key,
                                      R"({"mode":"sync","roles":{"worker":{"replicas":2}},
          "dataset":{"name":"synthetic_digits"},"model":{"name":"softmax_regression"}})");
  const RawResponse other = yard.call("POST /v1/jobs", key,
                                      R"({"mode":"sync","roles":{"worker":{"replicas":3}},
          "dataset":{"name":"synthetic_digits"},"model":{"name":"softmax_regression"}})");

  REQUIRE(again.status == 201);
  CHECK(json::parse(again.body).at("id") == first.at("id"));
  CHECK(other.status == 409);
}

TEST_CASE("what no agent could ever run is refused by its place in the spec", "[routes][mend-B6]") {
  ApiYard yard;
  scheduler::AgentPeer agent(yard.scheduler().agent_address(), "a");
  REQUIRE(agent.report());
  REQUIRE(agent.next());

  for (const char* call : {"POST /v1/jobs", "POST /v1/jobs?dry_run=true"}) {
    const json problem = yard.json(422, call, R"({"model": "mlp", "dataset": "synthetic_digits",
        "scheduling": {"host_labels": {"zone": "north"}}, "env": {"MY_OWN": "1"},
        "checkpoint": {"resume_from": "no-job/latest"}})");
    std::set<std::string> pointers;
    for (const json& fault : problem.at("errors")) pointers.insert(fault.at("pointer"));
    CHECK(pointers == std::set<std::string>{"/scheduling/host_labels/zone", "/env/MY_OWN",
                                            "/checkpoint/resume_from"});
  }
}

TEST_CASE("resume_from takes the latest and the best checkpoint of another job",
          "[routes][mend-B12]") {
  ApiYard yard;
  RunningJob source(yard);
  source.commit_checkpoint(100, 0.25);
  source.commit_checkpoint(200, 0.5);
  const auto resuming = [&](const std::string& which, const std::string& training) {
    json spec = json::parse(small_spec);
    spec["checkpoint"]["resume_from"] = source.id() + "/" + which;
    spec["training"] = json::parse(training);
    return spec.dump();
  };
  const auto kept = [](const json& job) {
    return job.at("spec").at("checkpoint").at("resume_from").get<std::string>();
  };

  CHECK(kept(yard.json(201, "POST /v1/jobs", resuming("latest", "{}"))) == source.id() + "/200");
  CHECK(kept(yard.json(201, "POST /v1/jobs", resuming("best", "{}"))) == source.id() + "/100");
  CHECK(kept(yard.json(200, "POST /v1/jobs?dry_run=true", resuming("latest", "{}"))) ==
        source.id() + "/200");
  for (const char* which : {"latest", "200"}) {
    const json problem = yard.json(422, "POST /v1/jobs", resuming(which, R"({"max_steps": 200})"));
    CHECK(problem.at("errors")[0].at("pointer") == "/training/max_steps");
    CHECK_THAT(problem.at("errors")[0].at("message").get<std::string>(),
               Catch::Contains("nothing would be left to do"));
  }
  json other = json::parse(resuming("latest", "{}"));
  other["model"] = {{"name", "mlp"}, {"hidden", {7}}};
  const json problem = yard.json(422, "POST /v1/jobs", other.dump());
  CHECK(problem.at("errors")[0].at("pointer") == "/checkpoint/resume_from");
  CHECK_THAT(problem.at("errors")[0].at("message").get<std::string>(), Catch::EndsWith("mlp [7]"));
}
