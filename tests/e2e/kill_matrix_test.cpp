// Sync training whose tasks are killed by chance, on any number of ps and workers: the model's
// bytes are always the same. KILL_SEEDS=n runs that many, KILL_SEED=k one, KILL_TRANSPORT=name by
// that way at best, KILL_STEPS=n of so many steps.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/yard.h"
#include "tests/environment.h"
#include "tests/support/process_state.h"

using namespace trainyard;
using namespace trainyard::e2e;

namespace {

int steps() { return static_cast<int>(number_from_environment("KILL_STEPS", long_run(3000))); }

// A step of eight micro-batches, whoever computes them.
nlohmann::json job_of(int ps, int workers, const std::string& wire) {
  nlohmann::json spec = small_job(steps());
  spec["training"]["wire"] = wire;
  spec["training"].erase("batch_size");
  spec["training"]["global_batch_size"] = 64;
  spec["training"]["micro_batch_size"] = 8;
  spec["training"]["optimizer"] = "momentum";
  spec["checkpoint"]["every_steps"] = steps() / 20;
  if (ps == 0) {
    spec["training"]["strategy"] = "all_reduce";
    spec["roles"] = {{"worker", workers}};
  } else {
    spec["roles"] = {{"ps", ps}, {"worker", workers}};
  }
  return spec;
}

struct Seeded {
  std::mt19937_64 random;
  int below(int limit) { return static_cast<int>(random() % static_cast<std::uint64_t>(limit)); }
};

using Kills = std::map<std::string, int>;  // by role

// Some task of the job, at whatever it does just then. It may have ended by itself meanwhile.
void kill_any_task(Yard& yard, const std::string& id, Seeded& seeded, Kills& kills) {
  std::vector<std::pair<std::string, pid_t>> alive;
  for (const auto& task : yard.tasks(id)) {
    const auto pid = task.at("pid");
    if (!pid.is_number() || !is_alive(pid.get<pid_t>())) continue;
    const auto role = task.at("role").get<std::string>();
    const bool leads = role == "worker" && task.at("index") == 0;
    alive.emplace_back(leads ? "chief" : role, pid.get<pid_t>());
  }
  if (alive.empty()) return;
  const auto& [role, pid] = alive[seeded.random() % alive.size()];
  if (::kill(pid, SIGKILL) == 0) ++kills[role];
}

std::string trained_under_fire(Yard& yard, std::uint64_t seed, const std::string& wire,
                               Kills& killed) {
  Seeded seeded{std::mt19937_64(seed)};
  const int ps = seeded.below(4);
  const int workers = 1 + seeded.below(4);
  const std::string id = yard.submit(job_of(ps, workers, wire));
  for (int kills = 1 + seeded.below(4); kills > 0; --kills) {
    const int at = seeded.below(steps());
    // A step that is not reached because the job was set back is reached later.
    const auto job = yard.wait_for(id, [at](const nlohmann::json& now) {
      const auto& status = now.at("status");
      return status.at("step") >= at || status.at("state") == "succeeded";
    });
    if (job.at("status").at("state") == "succeeded") break;
    kill_any_task(yard, id, seeded, killed);
  }
  yard.wait_for_state(id, "succeeded", 300);
  return yard.model_sha256(id);
}

void check_under_fire(const std::string& wire, std::uint64_t seeds) {
  Yard yard;
  std::vector<std::string> flags{"--cpus", "8"};
  if (const char* const transport = std::getenv("KILL_TRANSPORT")) {
    flags.insert(flags.end(), {"--transport", transport});
  }
  yard.start_agent("a", flags);
  yard.wait_for_agents(1);
  const std::string undisturbed = yard.submit(job_of(1, 2, wire));
  yard.wait_for_state(undisturbed, "succeeded");
  const std::string expected = yard.model_sha256(undisturbed);

  const std::uint64_t one = number_from_environment("KILL_SEED", 0);
  const std::uint64_t last = one != 0 ? one : number_from_environment("KILL_SEEDS", seeds);
  Kills kills;
  for (std::uint64_t seed = one != 0 ? one : 1; seed <= last; ++seed) {
    INFO("replay with KILL_SEED=" << seed);
    CHECK(trained_under_fire(yard, seed, wire, kills) == expected);
  }
  std::string told;
  for (const auto& [role, count] : kills) told += " " + role + " " + std::to_string(count);
  WARN("killed:" << told);
  if (one != 0) return;
  CHECK_FALSE(kills.empty());
  // Of many seeds every role has died.
  if (last >= 20) CHECK(kills.size() == 3);
}

}  // namespace

TEST_CASE("tasks killed by chance change no byte of a sync job's model", "[e2e]") {
  check_under_fire("float32", is_sanitized ? 1 : 3);
}

TEST_CASE("tasks killed by chance change no byte of a sync job's model of one bit", "[e2e]") {
  check_under_fire("onebit", is_sanitized ? 1 : 2);
}
