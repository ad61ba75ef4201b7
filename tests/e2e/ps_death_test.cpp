// An asynchronous job whose parameter server dies goes back to its newest checkpoint, as a
// synchronous one does: no ps is ever of another time than the rest.
#include <signal.h>

#include <catch2/catch.hpp>
#include <sstream>

#include "tests/e2e/yard.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

// The version that the task says it trains from, of that attempt.
std::int64_t first_version(Yard& yard, const std::string& id, int attempt) {
  const auto log = get(yard.url(
      "/v1/jobs/" + id + "/logs?task=worker/0&tail=100000&attempt=" + std::to_string(attempt)));
  REQUIRE(log.status == 200);
  std::istringstream lines(log.body);
  for (std::string line; std::getline(lines, line);) {
    const auto entry = nlohmann::json::parse(line, nullptr, false);
    if (entry.is_object() && entry.value("event", "") == "training") return entry.at("version");
  }
  FAIL("it does not train: " << log.body);
  return 0;
}

}  // namespace

TEST_CASE("a ps that dies takes an async job back to its newest checkpoint, and it ends",
          "[e2e][ps_death]") {
  constexpr int steps = long_run(16000);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  nlohmann::json spec = small_job(steps);
  spec["mode"] = "async";
  spec["roles"] = {{"ps", 2}, {"worker", 2}};
  spec["checkpoint"]["every_steps"] = steps / 8;
  const std::string id = yard.submit(spec);
  const auto saved = yard.wait_for(id, [](const nlohmann::json& job) {
    return !job.at("status").at("latest_checkpoint").is_null();
  });
  REQUIRE(::kill(yard.pid_of(id, "ps", 1), SIGKILL) == 0);
  const auto status = yard.wait_for_state(id, "succeeded").at("status");

  CHECK(status.at("attempt") == 2);
  CHECK(status.at("restarts").at("infra") == 1);
  CHECK(status.at("restarts").at("user") == 0);
  CHECK(status.at("step") == steps);
  CHECK(status.at("latest_checkpoint") == steps);
  // A checkpoint of async is of the step that it is named after, or a little later.
  CHECK(first_version(yard, id, 2) >=
        saved.at("status").at("latest_checkpoint").get<std::int64_t>());
  CHECK_FALSE(yard.model_file(id).empty());
}
