// A database in a folder of its own, and rows in which every field is set.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "scheduler/store/store.h"
#include "schemas/files/sha256.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/support/temp_folder.h"

namespace trainyard::scheduler {

inline std::string database_of(const TempFolder& folder) { return folder.path("trainyard.db"); }

inline Job a_job(const std::string& id, std::uint64_t sequence, const std::string& more_spec = "") {
  const std::string text =
      R"({"model": "softmax_regression", "dataset": "synthetic_digits", "name": "digits",
    "labels": {"team": "vision", "stage": "test"},
    "roles": {"ps": 1, "worker": 2}, "mode": "sync")" +
      more_spec + "}";
  const ParsedJobSpec parsed = parse_job_spec(text);
  ENSURE(std::holds_alternative<JobSpec>(parsed));
  Job job;
  job.id = JobId{id};
  job.sequence = sequence;
  job.token_seed = 0xfedc'ba98'7654'3210;  // beyond the signed range
  job.version = 7;
  job.spec = std::get<JobSpec>(parsed);
  job.spec_json = to_json(job.spec);
  job.spec_hash = sha256_hex(job.spec_json);
  job.state = JobState::running;
  job.goal = JobState::running;
  job.reason = Reason::gang_running;
  job.message = "every task runs";
  job.attempt = 2;
  job.restarts = {.user = 1, .infra = 3};
  job.progress = {.step = 40,
                  .max_steps = 600,
                  .metrics = {{"loss", 0.25}, {"accuracy", 0.5}},
                  .reported_at = {1'000'040}};
  job.first_failure = FirstFailure{.task = "worker/1",
                                   .attempt = 1,
                                   .agent = AgentId{"a1"},
                                   .reason = Reason::exit_nonzero,
                                   .exit = {.code = 3, .signal = std::nullopt},
                                   .message = "exit code 3",
                                   .log_tail = "line \"1\"\nline 2\n"};
  job.latest_checkpoint = 30;
  job.transitions = {{.from = JobState::queued,
                      .to = JobState::starting,
                      .reason = Reason::gang_placed,
                      .message = "placed on a1",
                      .attempt = 1,
                      .time = {1'000'001}}};
  job.created_at = {1'000'000};
  job.started_at = {1'000'002};
  job.finished_at = {};
  job.queued_at = {1'000'003};
  job.not_before = {1'000'004};
  return job;
}

inline TaskAttempt a_task(const Job& job, Role role, std::int64_t index) {
  TaskAttempt task;
  task.key = {.job = job.id, .attempt = job.attempt, .role = role, .index = index};
  task.agent = AgentId{"a1"};
  task.host = "10.0.0.1";
  task.port = 20'001;
  task.rows_port = 20'002;
  task.resources = {.cpus = 1, .memory_mb = 1024, .gpus = 2};
  task.gpus = {0, 3};
  task.state = TaskState::failed;
  task.agent_silent = true;
  task.pid = 4711;
  task.exit = {.code = std::nullopt, .signal = 9};
  task.reason = Reason::oom_killed;
  task.message = "killed";
  task.routes = "ps/0 by tcp";
  task.events_end = 1234;
  task.assigned_at = {1};
  task.started_at = {2};
  task.finished_at = {3};
  return task;
}

inline AgentRecord an_agent(const std::string& id) {
  AgentRecord agent;
  agent.id = AgentId{id};
  agent.host = {.address = "10.0.0.1",
                .capacity = {.cpus = 8, .memory_mb = 16'000, .gpus = 1},
                .gpus = {{.index = 0,
                          .name = "NVIDIA H100",
                          .memory_mb = 80'000,
                          .uuid = "GPU-a",
                          .numa_node = 1,
                          .product_rates = {{Precision::float32, 0.5}}}},
                .first_port = 20'000,
                .last_port = 20'999,
                .labels = {{"gpu", "h100"}},
                .agent_version = "0.1.0",
                .allowed_env = {"APP_*"}};
  agent.epoch = 5;
  agent.generation = 17;
  agent.cordoned = true;
  agent.state = AgentState::cordoned;
  agent.registered_at = {10};
  agent.state_since = {20};
  return agent;
}

inline Checkpoint a_checkpoint(const Job& job, std::int64_t step,
                               CheckpointState state = CheckpointState::committed) {
  const auto file = [step](const std::string& name) {
    return ArtifactFile{
        .name = name, .bytes = 100, .sha256 = sha256_hex(name + std::to_string(step))};
  };
  Checkpoint checkpoint;
  checkpoint.job = job.id;
  checkpoint.step = step;
  checkpoint.attempt = job.attempt;
  checkpoint.state = state;
  checkpoint.manifest = file("manifest.json");
  checkpoint.shards = {file("shard-1"), file("shard-2")};
  checkpoint.metrics = {{"loss", 0.125}};
  checkpoint.final_one = true;
  checkpoint.created_at = {99};
  return checkpoint;
}

// The value, or the test ends saying why there is none.
template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

inline Store open_store(const TempFolder& folder) {
  return value_of(Store::open(database_of(folder)));
}

// Saves, and ends the test when that fails.
inline void save(Store& store, const std::vector<Change>& changes,
                 const std::vector<IdempotencyKey>& keys = {}) {
  value_of(store.save(changes, keys));
}

}  // namespace trainyard::scheduler
