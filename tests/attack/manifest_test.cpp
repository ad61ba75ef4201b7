// Checkpoints whose manifests say anything, committed by an agent that runs the job.
#include <catch2/catch.hpp>
#include <set>

#include "schemas/files/sha256.h"
#include "schemas/wire/checkpoint_json.h"
#include "schemas/wire/safetensors.h"
#include "tests/attack/besieged.h"
#include "tests/attack/mutated_json.h"
#include "tests/scheduler/loop/agent_peer.h"

using namespace trainyard;
using namespace trainyard::attack;

namespace {

ArtifactFile file_of(const std::string& name, const std::string& content) {
  return {name, static_cast<std::int64_t>(content.size()), sha256_hex(content)};
}

std::string shard_of_four_floats() {
  SafetensorsHeader header;
  header.entries.push_back({.name = to_tensor_name({"w", "", 0, 4}), .shape = {4}});
  return *encode_safetensors_header(header) + std::string(16, '\0');
}

// An agent that runs a job's tasks as a hostile one would: nothing is computed, and of checkpoints
// it says what it likes.
class HostileAgent {
 public:
  explicit HostileAgent(e2e::Yard& yard) : peer_(yard.agent_address(), "hostile") {
    peer_.report();
    peer_.next();
    job = yard.submit(e2e::small_job(1'000'000));
    assignment_ = peer_.until([](const Assignment& now) { return !now.tasks.empty(); });
    for (const WantedTask& wanted : assignment_.tasks) {
      peer_.task(wanted).state = TaskState::running;
    }
    peer_.report();
  }

  [[nodiscard]] const WantedTask& task(const std::string& name) const {
    for (const WantedTask& wanted : assignment_.tasks) {
      if (task_name(wanted.task.key) == name) return wanted;
    }
    throw std::runtime_error("no task " + name);
  }

  void commit(std::int64_t step, const std::string& manifest) {
    const std::string folder = "step-" + std::to_string(step);
    const ArtifactFile shard_file = file_of(folder + "/shard", shard_);
    const ArtifactFile manifest_file = file_of(folder + "/manifest.json", manifest);
    tell(task("ps/0"), ShardEvent{step, shard_file});
    tell(task("worker/0"), ManifestEvent{step, manifest_file, {shard_file}, {}, false});
    put(task("ps/0"), shard_file, shard_);
    put(task("worker/0"), manifest_file, manifest);
  }

  // A good manifest of the job, to spoil.
  [[nodiscard]] nlohmann::json manifest(std::int64_t step) const {
    const std::string folder = "step-" + std::to_string(step);
    Manifest content;
    content.step = step;
    content.attempt = 1;
    content.job = job;
    content.spec_hash = task("worker/0").task.spec_hash;
    content.mode = "sync";
    content.variables = {{"w", {2, 2}}};
    content.shards = {file_of(folder + "/shard", shard_)};
    return nlohmann::json::parse(to_json(content));
  }

  std::string job;

 private:
  // Reports it, and reads until the server has stored it.
  void tell(const WantedTask& wanted, decltype(RunEvent::what) what) {
    TaskReport& report = peer_.task(wanted);
    report.events_begin = report.events_end;
    report.events = {RunEvent{{1'700'000'000'000}, report.events_end, std::move(what)}};
    report.events_end += 100;
    const std::int64_t end = report.events_end;
    peer_.report();
    peer_.until([&](const Assignment& now) {
      return std::ranges::any_of(now.tasks, [&](const WantedTask& task) {
        return task.task.key == wanted.task.key && task.events_stored >= end;
      });
    });
    peer_.task(wanted).events.clear();
  }
  void put(const WantedTask& by, const ArtifactFile& file, const std::string& content) {
    static_cast<void>(peer_.put({by.task.key, by.token, 0, content}, file));
  }

  scheduler::AgentPeer peer_;
  Assignment assignment_;
  const std::string shard_ = shard_of_four_floats();
};

}  // namespace

TEST_CASE("five hundred hostile manifests are committed or not, and none ends the server",
          "[attack][mend-A3]") {
  Besieged besieged;
  HostileAgent agent(besieged.yard);
  MutatedJson mutated(number_from_environment("ATTACK_SEED", 1));
  const std::set<long> fair{200, 404, 409};
  int shown = 0;
  for (std::int64_t step = 1; step <= fewer(500); ++step) {
    const nlohmann::json good = agent.manifest(step);
    agent.commit(step, step % 50 == 1 ? good.dump() : mutated.next({good}));
    const e2e::Answer download =
        e2e::get(besieged.yard.url("/v1/jobs/" + agent.job + "/checkpoints/latest/download"));
    INFO("manifest " << step << " of ATTACK_SEED: " << download.body.substr(0, 500));
    REQUIRE(fair.contains(download.status));
    shown += download.status == 200 ? 1 : 0;
  }
  CHECK(shown > 0);
  besieged.check_it_stood();
}
