// What happens when something dies (contract.md): real processes, real SIGKILLs.
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "schemas/wire/run_event_json.h"
#include "tests/e2e/yard.h"
#include "tests/support/process_state.h"
#include "tests/support/waiting.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

void kill_task(Yard& yard, const std::string& id, const std::string& role, int index) {
  const auto before = yard.job(id).at("status").at("attempt").get<std::int64_t>();
  REQUIRE(::kill(yard.pid_of(id, role, index), SIGKILL) == 0);
  yard.wait_for(id, [&](const nlohmann::json& job) {
    return job.at("status").at("attempt") > before && job.at("status").at("state") == "running";
  });
}

// It is started again by itself, and training goes on.
void kill_worker(Yard& yard, const std::string& id, int index) {
  const auto before = yard.job(id).at("status");
  const pid_t killed = yard.pid_of(id, "worker", index);
  REQUIRE(::kill(killed, SIGKILL) == 0);
  yard.wait_for(id, [&](const nlohmann::json& job) {
    return yard.pid_of(id, "worker", index) != killed &&
           job.at("status").at("step") > before.at("step").get<std::int64_t>() + 20;
  });
  CHECK(yard.job(id).at("status").at("attempt") == before.at("attempt"));
}

WallTime newest_event(const std::string& path) {
  std::ifstream file(path);
  WallTime newest;
  for (std::string line; std::getline(file, line);) {
    // The last line may be half written.
    if (const auto event = parse_run_event(line, 0)) newest = event->time;
  }
  return newest;
}

// Until the task's events go on for that long.
void wait_for_progress(const std::string& path, Millis time) {
  const WallTime first = newest_event(path);
  REQUIRE(first.is_set());
  REQUIRE(
      eventually([&] { return newest_event(path) - first >= time; }, in_seconds(60), rare_looks));
}

// The loss curve as REST shows it: ascending steps, none twice, from the first report to the last
// step. Which steps between have one is a matter of time: there are ten reports a second.
void check_curve_is_whole(Yard& yard, const std::string& id, int last_step) {
  const auto answer = get(yard.url("/v1/jobs/" + id + "/metrics?names=loss&max_points=100000"));
  REQUIRE(answer.status == 200);
  std::vector<std::int64_t> steps;
  const nlohmann::json points = answer.json().at("series").at(0).at("points");
  for (const auto& point : points) {
    steps.push_back(point.at("step").get<std::int64_t>());
  }
  CHECK(std::ranges::adjacent_find(steps, std::ranges::greater_equal()) == steps.end());
  CHECK(steps.front() == 10);
  CHECK(steps.back() == last_step);
}

}  // namespace

TEST_CASE("a job whose worker, ps and chief were killed ends with an undisturbed run's bytes",
          "[e2e]") {
  constexpr int steps = long_run(8000);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string undisturbed = yard.submit(small_job(steps));
  yard.wait_for_state(undisturbed, "succeeded");

  const std::string id = yard.submit(small_job(steps));
  yard.wait_for_step(id, 300);
  kill_worker(yard, id, 1);
  kill_task(yard, id, "ps", 0);
  kill_task(yard, id, "worker", 0);
  const auto job = yard.wait_for_state(id, "succeeded");

  CHECK(job.at("status").at("attempt") == 3);  // for the ps and the chief
  CHECK(job.at("status").at("restarts").at("infra") == 2);
  CHECK(yard.model_sha256(id) == yard.model_sha256(undisturbed));
  check_curve_is_whole(yard, id, steps);
}

TEST_CASE("a sync job waits for a worker that is started again late, to the same bytes", "[e2e]") {
  constexpr int steps = long_run(3000);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  nlohmann::json spec = small_job(steps);
  // Micro-batches that three workers cannot share out evenly: each sends another number of sums.
  spec["training"].erase("batch_size");
  spec["training"]["global_batch_size"] = 64;
  spec["training"]["micro_batch_size"] = 8;
  spec["training"]["wire"] = GENERATE("float32", "bfloat16");
  spec["roles"] = {{"ps", 2}, {"worker", 3}};
  const std::string undisturbed = yard.submit(spec);
  yard.wait_for_state(undisturbed, "succeeded");

  const std::string id = yard.submit(spec);
  yard.wait_for_step(id, steps / 20);
  const pid_t killed = yard.pid_of(id, "worker", 2);
  REQUIRE(::kill(yard.agent("a").pid(), SIGSTOP) == 0);
  REQUIRE(::kill(killed, SIGKILL) == 0);
  // Both ps have noticed, and nobody is there who would start it again.
  for (const char* const ps : {"ps-0", "ps-1"}) {
    const std::string log = yard.folder().path("agent-a/tasks/" + id + "/1/" + ps + "/task.log");
    REQUIRE(eventually([&] { return content_of(log).find("worker is gone") != std::string::npos; },
                       in_seconds(60), rare_looks));
  }
  REQUIRE(::kill(yard.agent("a").pid(), SIGCONT) == 0);
  const auto job = yard.wait_for_state(id, "succeeded");

  CHECK(job.at("status").at("attempt") == 1);
  CHECK(job.at("status").at("restarts") == nlohmann::json{{"user", 0}, {"infra", 0}});
  CHECK(yard.model_sha256(id) == yard.model_sha256(undisturbed));
  check_curve_is_whole(yard, id, steps);
}

TEST_CASE("a server killed right after its 201 still has the job", "[e2e]") {
  Yard yard;
  for (int round = 0; round < 5; ++round) {
    const std::string id = yard.submit(small_job(100));
    yard.kill_server();
    yard.start_server();
    CHECK(yard.job(id).at("status").at("state") == "queued");
  }
}

TEST_CASE("training goes on while the server is dead, and its curve has no gap", "[e2e]") {
  constexpr int steps = long_run(30000);
  constexpr int lease = is_sanitized ? 12 : 4;  // seconds
  Yard yard({"--stop-after-seconds", std::to_string(lease), "--lost-after-seconds",
             std::to_string(2 * lease)});
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string id = yard.submit(small_job(steps));
  yard.wait_for_step(id, 100);
  const auto before = yard.tasks(id);

  yard.kill_server();
  // Longer than the lease: it is renewed by nothing but the refusals of the dead server's address.
  wait_for_progress(yard.folder().path("agent-a/tasks/" + id + "/1/worker-0/events.jsonl"),
                    seconds(lease + 1));
  for (const auto& task : before) CHECK(is_alive(task.at("pid").get<pid_t>()));
  yard.start_server();
  const auto job = yard.wait_for_state(id, "succeeded");

  INFO(job.at("status").dump(2));
  CHECK(job.at("status").at("attempt") == 1);
  CHECK(job.at("status").at("step") == steps);
  check_curve_is_whole(yard, id, steps);
}

TEST_CASE("training goes on while its agent is killed and started again, to the same bytes",
          "[e2e]") {
  constexpr int steps = long_run(20000);
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string undisturbed = yard.submit(small_job(steps));
  yard.wait_for_state(undisturbed, "succeeded");

  const std::string id = yard.submit(small_job(steps));
  const std::string events = yard.folder().path("agent-a/tasks/" + id + "/1/worker-0/events.jsonl");
  for (int round = 0; round < 3; ++round) {
    yard.wait_for_step(id, (round + 1) * steps / 10);
    const auto before = yard.tasks(id);
    yard.kill_agent("a");
    wait_for_progress(events, Millis{200});  // nobody reads it
    yard.start_agent("a");
    for (const auto& task : before) CHECK(is_alive(task.at("pid").get<pid_t>()));
  }
  const auto job = yard.wait_for_state(id, "succeeded");

  CHECK(job.at("status").at("attempt") == 1);
  CHECK(job.at("status").at("restarts") == nlohmann::json{{"user", 0}, {"infra", 0}});
  CHECK(yard.model_sha256(id) == yard.model_sha256(undisturbed));
  check_curve_is_whole(yard, id, steps);
}

TEST_CASE("a job that ends while its agent is away has succeeded when it is back", "[e2e]") {
  Yard yard;
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string id = yard.submit(small_job(long_run(5000)));
  yard.wait_for_step(id, 300);
  const auto before = yard.tasks(id);

  yard.kill_agent("a");
  for (const auto& task : before) CHECK(wait_gone(task.at("pid").get<pid_t>(), in_seconds(60)));
  yard.start_agent("a");
  const auto job = yard.wait_for_state(id, "succeeded");

  CHECK(job.at("status").at("attempt") == 1);
  CHECK(job.at("status").at("step") == long_run(5000));
  check_curve_is_whole(yard, id, long_run(5000));
}

TEST_CASE("a killed agent that stays away leaves no process, and its job is run again", "[e2e]") {
  Yard yard({"--stop-after-seconds", "4", "--lost-after-seconds", "8"});
  yard.start_agent("a");
  yard.wait_for_agents(1);
  const std::string id = yard.submit(small_job(long_run(200000)));
  yard.wait_for_step(id, 300);
  const auto before = yard.tasks(id);

  yard.kill_agent("a");
  for (const auto& task : before) CHECK(wait_gone(task.at("pid").get<pid_t>(), in_seconds(30)));
  yard.start_agent("a");
  yard.wait_for(id, [](const nlohmann::json& job) {
    return job.at("status").at("attempt") >= 2 && job.at("status").at("state") == "running";
  });
}
