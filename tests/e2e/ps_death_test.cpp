// An asynchronous job whose parameter server dies: its agent starts it again beside its living
// gang.
#include <signal.h>

#include <catch2/catch.hpp>

#include "tests/e2e/yard.h"
#include "tests/support/process_state.h"

using namespace trainyard;
using namespace trainyard::e2e;

TEST_CASE("an async job whose ps is killed goes on in its attempt, and shows what was lost",
          "[e2e][ps_return]") {
  constexpr int steps = long_run(40000);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  nlohmann::json spec = small_job(steps);
  spec["mode"] = "async";
  spec["roles"] = {{"ps", 2}, {"worker", 2}};
  spec["checkpoint"]["every_steps"] = steps / 8;
  const std::string id = yard.submit(spec);
  // Well after a checkpoint: what was pushed since is lost with the ps.
  yard.wait_for_step(id, steps / 8 + steps / 16);
  const auto before = yard.tasks(id);
  const pid_t killed = yard.pid_of(id, "ps", 1);
  REQUIRE(::kill(killed, SIGKILL) == 0);
  yard.wait_for(id, [&](const nlohmann::json& job) {
    return job.at("status").at("metrics").contains("lost_updates");
  });
  CHECK(yard.pid_of(id, "ps", 1) != killed);
  for (const auto& task : before) {
    const bool is_killed = task.at("pid") == killed;
    CHECK((is_killed || is_alive(task.at("pid").get<pid_t>())));
  }
  const auto status = yard.wait_for_state(id, "succeeded").at("status");

  CHECK(status.at("attempt") == 1);
  CHECK(status.at("restarts").at("infra") == 0);
  CHECK(status.at("restarts").at("user") == 0);
  CHECK(status.at("step") == steps);
  CHECK(status.at("metrics").at("lost_updates").get<double>() > 0);
  CHECK(status.at("latest_checkpoint") == steps);
  const auto lost = get(yard.url("/v1/jobs/" + id + "/metrics?names=lost_updates"));
  REQUIRE(lost.status == 200);
  CHECK(lost.json().at("series").at(0).at("name") == "lost_updates");
  CHECK_FALSE(yard.model_file(id).empty());
}
