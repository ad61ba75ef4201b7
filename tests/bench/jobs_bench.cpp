// Whole jobs, from POST to their end: how long one takes until all its tasks run in an idle yard,
// and how many small ones are done in a second. Of a small job its two processes are the most: the
// limit is what the starting of two costs that do nothing.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schemas/base/check.h"
#include "tests/bench/agent_process.h"
#include "tests/bench/bench.h"
#include "tests/bench/http_client.h"
#include "tests/bench/server_process.h"
#include "tests/support/program_path.h"

namespace trainyard::bench {
namespace {

constexpr int rounds = 5;
constexpr int jobs_a_round = 60;
constexpr int jobs_alone = 11;

std::string spec_of(int steps) {
  return R"({"model": "softmax_regression", "dataset": "synthetic_digits", "mode": "sync",
             "roles": {"ps": 1, "worker": 1}, "training": {"max_steps": )" +
         std::to_string(steps) + "}}";
}

std::string submit(HttpClient& client, int steps) {
  const HttpClient::Answer answer = client.post("/v1/jobs", spec_of(steps));
  ENSURE(answer.status == 201);
  return nlohmann::json::parse(answer.body).at("id").get<std::string>();
}

// Until the job's state is `state`, or its end.
void await(HttpClient& client, const std::string& id, const std::string& state) {
  for (std::string version = "0";;) {
    const HttpClient::Answer answer = client.get("/v1/jobs/" + id + "?wait_version=" + version);
    ENSURE(answer.status == 200);
    const auto job = nlohmann::json::parse(answer.body);
    const std::string now = job.at("status").at("state").get<std::string>();
    ENSURE(now != "failed" && now != "cancelled");
    if (now == state || now == "succeeded") return;
    version = job.at("version").dump();
  }
}

void await_agent(HttpClient& client) {
  const double deadline = seconds_now() + 30;
  while (client.get("/v1/agents").body.find("\"ready\"") == std::string::npos) {
    ENSURE(seconds_now() < deadline);
  }
}

// Pairs of processes of the runtime that start, say how to use it, and end.
double starts_per_second() {
  const std::string program = program_path("trainyard-runtime");
  constexpr int pairs = 10;
  const double start = seconds_now();
  for (int i = 0; i < pairs; ++i) {
    pid_t children[2];
    for (pid_t& child : children) {
      posix_spawn_file_actions_t actions;
      ::posix_spawn_file_actions_init(&actions);
      ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
      const char* arguments[] = {program.c_str(), "--help", nullptr};
      ENSURE(::posix_spawn(&child, program.c_str(), &actions, nullptr,
                           const_cast<char* const*>(arguments), environ) == 0);
      ::posix_spawn_file_actions_destroy(&actions);
    }
    for (const pid_t child : children) ENSURE(::waitpid(child, nullptr, 0) == child);
  }
  return pairs / (seconds_now() - start);
}

BenchResult named(const Samples& samples, std::string case_name, std::string unit) {
  BenchResult result = summary_of(samples);
  result.bench = "jobs_completed";
  result.case_name = std::move(case_name);
  result.unit = std::move(unit);
  return result;
}

}  // namespace

std::vector<BenchResult> bench_jobs_completed() {
  const ServerProcess server;
  const AgentProcess agent(server);
  HttpClient client(server.http_address());
  await_agent(client);
  const auto cpu = [&] { return server.cpu_seconds() + agent.cpu_seconds(); };

  await(client, submit(client, 1), "succeeded");  // reads programs from the disk
  Samples latency;
  for (int i = 0; i < jobs_alone; ++i) {
    const double start = seconds_now();
    const std::string id = submit(client, 50);
    await(client, id, "running");
    latency.add((seconds_now() - start) * 1e3);
    await(client, id, "succeeded");
  }

  Samples completed;
  Samples starts;
  for (int round = 0; round < rounds; ++round) {
    starts.add(starts_per_second());
    const double cpu_before = cpu();
    const double start = seconds_now();
    std::vector<std::string> ids;
    for (int i = 0; i < jobs_a_round; ++i) ids.push_back(submit(client, 1));
    for (const std::string& id : ids) await(client, id, "succeeded");
    completed.add(jobs_a_round / (seconds_now() - start));
    completed.cpu_seconds += cpu() - cpu_before;
    completed.units += jobs_a_round;
  }
  BenchResult jobs = named(completed, "1 ps + 1 worker, 1 step", "jobs/s");
  jobs.limit = summary_of(starts).value;
  jobs.limit_of = "starts of two processes";
  return {jobs, named(latency, "submit to running, idle yard", "ms"),
          named(starts, "starts of two processes", "pairs/s")};
}

}  // namespace trainyard::bench
