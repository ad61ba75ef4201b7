// Two agents on one machine: gangs over both, and what is said when one is gone for good.
#include <catch2/catch.hpp>
#include <set>

#include "tests/e2e/yard.h"

using namespace trainyard;
using namespace trainyard::e2e;

TEST_CASE("a gang lands on both agents; with one gone the job waits until another comes", "[e2e]") {
  Yard yard({"--stop-after-seconds", "4", "--lost-after-seconds", "8"});
  const std::vector<std::string> two_cpus{"--cpus", "2", "--memory-mb", "8192"};
  yard.start_agent("left", two_cpus);
  yard.start_agent("right", two_cpus);
  yard.wait_for_agents(2);

  const std::string id = yard.submit(small_job(long_run(8000)));
  yard.wait_for_step(id, 300);
  std::set<std::string> used;
  for (const auto& task : yard.tasks(id)) used.insert(task.at("agent").get<std::string>());
  CHECK(used == std::set<std::string>{"left", "right"});

  yard.kill_agent("right");
  yard.wait_for_state(id, "queued");
  const auto explained = get(yard.url("/v1/jobs/" + id + "/explain"));
  CHECK(explained.status == 200);
  CHECK_THAT(explained.body, Catch::Contains("cpu"));
  CHECK(explained.json().at("queue_position") == 1);

  yard.start_agent("new", two_cpus);
  const auto job = yard.wait_for_state(id, "succeeded");
  CHECK(job.at("status").at("attempt") == 2);
}

TEST_CASE("a job that may have fewer workers goes on when an agent is gone, to the same bytes",
          "[e2e]") {
  Yard yard({"--stop-after-seconds", "4", "--lost-after-seconds", "8"});
  yard.start_agent("stays", {"--cpus", "2", "--memory-mb", "8192"});
  yard.start_agent("goes", {"--cpus", "2", "--memory-mb", "8192"});
  yard.wait_for_agents(2);

  auto spec = small_job(long_run(5000));
  spec["training"].erase("batch_size");
  spec["training"]["global_batch_size"] = 24;
  spec["training"]["micro_batch_size"] = 4;
  spec["roles"] = {{"ps", 1}, {"worker", {{"replicas", 3}, {"min_replicas", 1}}}};
  const std::string id = yard.submit(spec);
  yard.wait_for_step(id, 300);
  CHECK(yard.tasks(id).size() == 4);

  yard.kill_agent("goes");
  const auto job = yard.wait_for_state(id, "succeeded");
  CHECK(job.at("status").at("attempt") == 2);
  CHECK(job.at("status").at("roles").at("worker").at("desired") == 3);
  std::size_t second = 0;
  for (const auto& task : yard.tasks(id)) second += task.at("attempt") == 2 ? 1 : 0;
  CHECK(second == 2);

  const std::string undisturbed = yard.submit(spec);
  yard.wait_for_state(undisturbed, "succeeded");
  CHECK(yard.model_sha256(id) == yard.model_sha256(undisturbed));
}

TEST_CASE("a spec that no agent could ever hold is refused at submit, with the reason", "[e2e]") {
  Yard yard;
  yard.start_agent("a", {"--cpus", "4", "--gpus", "1"});
  yard.wait_for_agents(1);
  auto spec = small_job(100);
  spec["roles"]["worker"] = {{"replicas", 1}, {"resources", {{"gpus", 2}}}};

  const Answer answer = post(yard.url("/v1/jobs"), spec.dump());

  CHECK(answer.status == 422);
  CHECK(answer.headers.at("content-type") == "application/problem+json");
  CHECK_THAT(answer.body, Catch::Contains("gpu"));
}
