// A disk of the server loses or changes files of checkpoints: the job goes on from an earlier one,
// to the same bytes.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/e2e/yard.h"
#include "tests/environment.h"

using namespace trainyard;
using namespace trainyard::e2e;

TEST_CASE("a job whose newest checkpoint is damaged goes on from the one before", "[e2e]") {
  constexpr int steps = long_run(20'000);  // long enough to be suspended in it
  constexpr int every = steps / either(100, 25);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  auto spec = small_job(steps);
  spec["checkpoint"] = {
      {"every_steps", every}, {"every_seconds", 0}, {"keep_latest", 3}, {"keep_best", 0}};
  const std::string id = yard.submit(spec);
  yard.wait_for(id, [](const auto& job) {
    const auto& newest = job.at("status").at("latest_checkpoint");
    return newest.is_number() && newest.template get<int>() >= 3 * every;
  });
  REQUIRE(post(yard.url("/v1/jobs/" + id + "/suspend")).status == 200);
  const auto before = yard.wait_for_state(id, "suspended");
  const auto newest = before.at("status").at("latest_checkpoint").get<int>();
  const auto list = get(yard.url("/v1/jobs/" + id + "/checkpoints")).json().at("items");
  REQUIRE(list.size() == 3);
  int damaged = 0;
  for (const auto& checkpoint : list) {
    if (checkpoint.at("step") != newest) continue;
    for (const auto& file : checkpoint.at("files")) {
      const std::string path =
          yard.folder().path("state/artifacts/" + id + "/") + file.at("sha256").get<std::string>();
      if (file.at("name").get<std::string>().ends_with(".safetensors")) {
        std::filesystem::resize_file(path, 100);
        ++damaged;
      }
    }
  }
  REQUIRE(damaged == 1);

  REQUIRE(post(yard.url("/v1/jobs/" + id + "/resume")).status == 200);
  const auto job = yard.wait_for_state(id, "succeeded");

  CHECK(job.at("status").at("restarts").at("infra") == 1);
  const std::string events = get(yard.url("/v1/jobs/" + id + "/events")).body;
  CHECK(events.find("checkpoint of step " + std::to_string(newest) + " is given up") !=
        std::string::npos);
  const std::string whole = yard.submit(spec);
  yard.wait_for_state(whole, "succeeded");
  CHECK(yard.model_sha256(id) == yard.model_sha256(whole));
}
