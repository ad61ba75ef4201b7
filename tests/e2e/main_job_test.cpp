// The main job through every real part: REST, SQLite, gRPC, agents, ps and workers.
#include <catch2/catch.hpp>

#include "schemas/wire/safetensors.h"
#include "tests/e2e/yard.h"
#include "tests/support/process_state.h"

using namespace trainyard;
using namespace trainyard::e2e;

TEST_CASE("a posted job trains on a ps and two workers and its model can be downloaded", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);

  const std::string id = yard.submit(small_job(400));
  const auto job = yard.wait_for_state(id, "succeeded");

  const auto& status = job.at("status");
  CHECK(status.at("step") == 400);
  CHECK(status.at("progress") == 1.0);
  CHECK(status.at("attempt") == 1);
  CHECK(status.at("metrics").at("test_accuracy").get<double>() > 0.5);
  CHECK(status.at("latest_checkpoint") == 400);

  const std::string file = yard.model_file(id);
  const auto header = decode_safetensors_header(file, static_cast<std::int64_t>(file.size()));
  REQUIRE(header.has_value());
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& entry : header->entries) shapes[entry.name] = entry.shape;
  CHECK(shapes == std::map<std::string, std::vector<std::int64_t>>{{"dense_0/kernel", {784, 100}},
                                                                   {"dense_0/bias", {100}},
                                                                   {"dense_1/kernel", {100, 10}},
                                                                   {"dense_1/bias", {10}}});
  for (const auto& task : yard.tasks(id)) CHECK(task.at("state") == "succeeded");
  for (const auto& task : yard.tasks(id)) CHECK_FALSE(is_alive(task.at("pid").get<pid_t>()));
}

TEST_CASE("two sync runs of one spec give the same bytes, on any number of ps", "[e2e]") {
  Yard yard;
  yard.start_agent("a", {"--cpus", "16"});
  yard.wait_for_agents(1);
  auto three_ps = small_job(300);
  three_ps["roles"]["ps"] = 3;

  const std::string first = yard.submit(small_job(300));
  const std::string second = yard.submit(small_job(300));
  const std::string third = yard.submit(three_ps);
  for (const std::string& id : {first, second, third}) yard.wait_for_state(id, "succeeded");

  // The files' metadata name neither job nor time, so that equal training is equal bytes.
  CHECK(yard.model_sha256(first) == yard.model_sha256(second));
  CHECK(yard.model_sha256(first) == yard.model_sha256(third));
}

TEST_CASE("timeline and status say which way each worker reaches the parameters", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  auto spec = small_job(100);
  spec["training"]["strategy"] = "all_reduce";
  spec["roles"] = {{"worker", 2}};
  const std::string id = yard.submit(spec);
  yard.wait_for_state(id, "succeeded");
  const Answer events = get(yard.url("/v1/jobs/" + id + "/events?limit=500"));
  CHECK(events.body.find("worker/0 by shared memory, worker/1 by shared memory") !=
        std::string::npos);
  CHECK(yard.job(id).at("status").at("routes") ==
        nlohmann::json{{"worker/0", "worker/0 by shared memory, worker/1 by shared memory"},
                       {"worker/1", "worker/0 by shared memory, worker/1 by shared memory"}});
}

TEST_CASE("an async job applies each push and reports staleness", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  auto spec = small_job(600);
  spec["mode"] = "async";

  const std::string id = yard.submit(spec);
  const auto job = yard.wait_for_state(id, "succeeded");

  CHECK(job.at("status").at("step") == 600);
  CHECK(job.at("status").at("metrics").contains("staleness"));
}

TEST_CASE("a missing data file ends the job with a reason that names it", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  auto spec = small_job(100);
  spec["dataset"] = {{"name", "mine"}, {"format", "csv"}, {"path", "/nowhere/at/all.csv"}};

  const std::string id = yard.submit(spec);
  const auto job = yard.wait_for_state(id, "failed");

  CHECK(job.at("status").at("reason") == "BAD_DATA");
  CHECK(job.at("status").at("reason_class") == "USER");
  CHECK_THAT(job.at("status").at("message").get<std::string>(),
             Catch::Contains("/nowhere/at/all.csv"));
}

TEST_CASE("a cancelled job stops, and none of its processes is left", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string id = yard.submit(small_job(1000000));
  yard.wait_for_step(id, 20);
  const auto running = yard.tasks(id);

  CHECK(post(yard.url("/v1/jobs/" + id + "/cancel")).status == 200);
  const auto job = yard.wait_for_state(id, "cancelled");

  CHECK(job.at("status").at("reason") == "USER_CANCELLED");
  for (const auto& task : running) CHECK(wait_gone(task.at("pid").get<pid_t>(), in_seconds(5)));
  CHECK(post(yard.url("/v1/jobs/" + id + "/cancel")).status == 200);
  CHECK(send({.method = "DELETE", .url = yard.url("/v1/jobs/" + id), .body = {}, .headers = {}})
            .status == 204);
  CHECK(get(yard.url("/v1/jobs/" + id)).status == 404);
}

TEST_CASE("a suspended job resumes from its checkpoint and ends with the same bytes", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string undisturbed = yard.submit(small_job(long_run(4000)));
  yard.wait_for_state(undisturbed, "succeeded");

  const std::string id = yard.submit(small_job(long_run(4000)));
  yard.wait_for(id, [](const nlohmann::json& job) {
    return !job.at("status").at("latest_checkpoint").is_null();
  });
  CHECK(post(yard.url("/v1/jobs/" + id + "/suspend")).status == 200);
  yard.wait_for_state(id, "suspended");
  CHECK(post(yard.url("/v1/jobs/" + id + "/resume")).status == 200);
  const auto job = yard.wait_for_state(id, "succeeded");

  CHECK(job.at("status").at("attempt") == 2);
  CHECK(yard.model_sha256(id) == yard.model_sha256(undisturbed));
}
