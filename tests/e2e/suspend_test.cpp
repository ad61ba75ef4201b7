// A suspension saves first: at most one step is done again, and the bytes are the same.
#include <catch2/catch.hpp>

#include "tests/e2e/yard.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

using nlohmann::json;

json spec_of(const std::string& kind, int max_steps) {
  json spec = small_job(max_steps);
  spec["checkpoint"] = {{"every_steps", 0}, {"every_seconds", 0}};  // only what is ordered
  if (kind == "all_reduce") {
    spec["training"]["strategy"] = "all_reduce";
    spec["roles"] = {{"worker", 2}};
  } else {
    spec["roles"]["ps"] = 2;
  }
  if (kind == "async") spec["mode"] = "async";
  return spec;
}

// The steps that the chief of each attempt has told of.
std::int64_t newest_step(Yard& yard, const std::string& id) {
  return yard.job(id).at("status").at("step").get<std::int64_t>();
}

}  // namespace

TEST_CASE("a suspended job loses no step and ends with the same bytes", "[e2e][mend-B4]") {
  const std::string kind = GENERATE("sync", "all_reduce", "async");
  INFO(kind);
  constexpr int steps = long_run(8000);
  Yard yard;
  yard.start_agent("a", {"--cpus", "16"});
  yard.wait_for_agents(1);
  const std::string id = yard.submit(spec_of(kind, steps));
  std::int64_t saved = 0;
  for (const std::int64_t step : {1, long_run(600), long_run(1200)}) {
    yard.wait_for_step(id, step);
    const Answer answer = post(yard.url("/v1/jobs/" + id + "/suspend"));
    REQUIRE(answer.status == 200);
    const json status = answer.json().at("status");
    CHECK(status.at("state") == "stopping");
    CHECK(status.at("goal") == "suspended");
    CHECK(status.at("message") == "saving before suspension");
    yard.wait_for_state(id, "suspended");
    const json job = yard.job(id);
    const std::int64_t checkpoint = job.at("status").at("latest_checkpoint").get<std::int64_t>();
    CHECK(checkpoint > saved);
    // What was told is of no later step than what is saved: nothing is done again. (In async the
    // pushes of others that came until they were marked are saved too, and told.)
    if (kind != "async") CHECK(newest_step(yard, id) <= checkpoint);
    CHECK(job.at("status").at("message") ==
          "suspended by the user, saved at step " + std::to_string(checkpoint));
    saved = checkpoint;
    REQUIRE(post(yard.url("/v1/jobs/" + id + "/resume")).status == 200);
  }
  const json job = yard.wait_for_state(id, "succeeded");
  CHECK(job.at("status").at("restarts") == json{{"user", 0}, {"infra", 0}});
  CHECK(job.at("status").at("attempt") == 4);
  CHECK(job.at("status").at("latest_checkpoint") == steps);
  if (kind == "async") return;
  const std::string whole = yard.submit(spec_of(kind, steps));
  yard.wait_for_state(whole, "succeeded");
  CHECK(yard.model_sha256(id) == yard.model_sha256(whole));
}

TEST_CASE("a suspension that a killed server had begun is ended by the next", "[e2e][mend-B4]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string id = yard.submit(spec_of("sync", 100'000));
  yard.wait_for_step(id, 50);
  REQUIRE(post(yard.url("/v1/jobs/" + id + "/suspend")).status == 200);
  yard.kill_server();
  yard.start_server();
  const json job = yard.wait_for_state(id, "suspended");
  CHECK_FALSE(job.at("status").at("latest_checkpoint").is_null());
  CHECK(job.at("status").at("message").get<std::string>().find("saved at step") !=
        std::string::npos);
}

TEST_CASE("a drained agent's job moves to another, loses no step and ends with the same bytes",
          "[e2e][drain]") {
  constexpr int steps = long_run(6000);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const json spec = spec_of("sync", steps);
  const std::string id = yard.submit(spec);
  yard.wait_for_step(id, 50);
  yard.start_agent("b");
  yard.wait_for_agents(2);
  const Answer drained = post(yard.url("/v1/agents/a/drain"));
  REQUIRE(drained.status == 200);
  CHECK(drained.json().at("state") == "draining");
  const json moved = yard.wait_for(id, [](const json& job) {
    return job.at("status").at("attempt") == 2 && job.at("status").at("state") == "running";
  });
  const std::int64_t saved = moved.at("status").at("latest_checkpoint").get<std::int64_t>();
  CHECK(saved >= 50);
  for (const json& task : yard.tasks(id)) {
    CHECK(task.at("agent") == (task.at("attempt") == 1 ? "a" : "b"));
  }
  const json job = yard.wait_for_state(id, "succeeded");
  CHECK(job.at("status").at("restarts") == json{{"user", 0}, {"infra", 0}});
  const std::string whole = yard.submit(spec);
  yard.wait_for_state(whole, "succeeded");
  CHECK(yard.model_sha256(id) == yard.model_sha256(whole));
}

TEST_CASE("the best checkpoint is kept and downloaded, whatever keep_latest says",
          "[e2e][mend-B2]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  json spec = small_job(300);
  spec["training"]["optimizer"] = {{"name", "adam"}, {"learning_rate", 0.2}};  // it goes astray
  spec["training"]["evaluate_every_steps"] = 1'000'000;
  spec["checkpoint"] = {{"every_steps", 10}, {"keep_latest", 1}, {"keep_best", 1}};
  const std::string id = yard.submit(spec);
  yard.wait_for_state(id, "succeeded");

  // Every checkpoint that there ever was said how good it is, as its curve does.
  const json curve = get(yard.url("/v1/jobs/" + id + "/metrics?names=test_loss")).json();
  const json points = curve.at("series").at(0).at("points");
  REQUIRE(points.size() == 30);
  json best = points.at(0);
  for (const json& point : points) {
    if (point.at("value") <= best.at("value")) best = point;
  }
  const json kept = get(yard.url("/v1/jobs/" + id + "/checkpoints")).json().at("items");
  bool is_kept = false;
  for (const json& one : kept) {
    if (one.at("step") != best.at("step")) continue;
    is_kept = true;
    CHECK(one.at("metrics").at("test_loss") == best.at("value"));
  }
  CHECK(is_kept);
  const Answer file = get(yard.url("/v1/jobs/" + id + "/checkpoints/best/download"));
  CHECK(file.status == 200);
  CHECK(file.headers.at("content-disposition")
            .find("step-" + std::to_string(best.at("step").get<std::int64_t>()) + ".safetensors") !=
        std::string::npos);
}
