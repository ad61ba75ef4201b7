// Jobs submitted and read over REST by 32 clients, each of which waits for its answer: a 201 is
// durable. The limits are what SQLite and the disk give in the same run, without a server around
// them.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "scheduler/store/store.h"
#include "schemas/base/check.h"
#include "schemas/files/sha256.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/bench/bench.h"
#include "tests/bench/http_client.h"
#include "tests/bench/server_process.h"

namespace trainyard::bench {
namespace {

constexpr int clients = 32;
constexpr int rounds = 7;
constexpr int submits_per_client = 100;  // in a round
constexpr int reads_per_client = 400;
constexpr std::string_view spec =
    R"({"model": "softmax_regression", "dataset": "synthetic_digits", "mode": "sync",
        "roles": {"ps": 1, "worker": 2}})";

struct Latencies {
  Samples rate;    // requests per second, one value a round
  Samples median;  // milliseconds
  Samples slow;    // the 99th percentile
};

struct Load {
  ServerProcess& server;
  int requests_per_client = 0;
  std::function<void(HttpClient&)> request;
};

void run_round(const Load& load, Latencies& latencies) {
  std::vector<std::vector<double>> times(clients);
  std::atomic<int> ready = 0;
  std::vector<std::jthread> threads;
  std::atomic<bool> go = false;
  for (auto& mine : times) {
    threads.emplace_back([&load, &mine, &ready, &go] {
      HttpClient client(load.server.http_address());
      ++ready;
      go.wait(false);
      for (int i = 0; i < load.requests_per_client; ++i) {
        const double start = seconds_now();
        load.request(client);
        mine.push_back((seconds_now() - start) * 1e3);
      }
    });
  }
  while (ready < clients) std::this_thread::yield();
  const double cpu_before = load.server.cpu_seconds();
  const double start = seconds_now();
  go = true;
  go.notify_all();
  threads.clear();  // joins
  const double took = seconds_now() - start;

  std::vector<double> all;
  for (const auto& mine : times) all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all);
  latencies.rate.add(static_cast<double>(all.size()) / took);
  latencies.rate.cpu_seconds += load.server.cpu_seconds() - cpu_before;
  latencies.rate.units += static_cast<double>(all.size());
  latencies.median.add(all[all.size() / 2]);
  latencies.slow.add(all[all.size() * 99 / 100]);
}

std::string submit_one(HttpClient& client) {
  const HttpClient::Answer answer = client.post("/v1/jobs", spec);
  ENSURE(answer.status == 201);
  const std::size_t id = answer.body.find("\"j-");
  ENSURE(id != std::string::npos);
  return answer.body.substr(id + 1, answer.body.find('"', id + 1) - id - 1);
}

// The same rows, `clients` jobs to a transaction, straight into a database on the same disk.
double group_commits_per_second(const std::string& folder, std::uint64_t& sequence) {
  using namespace scheduler;
  auto store = Store::open(folder + "/limit.db");
  ENSURE(store.has_value());
  Job job;
  job.spec = std::get<JobSpec>(parse_job_spec(spec));
  job.spec_json = to_json(job.spec);
  job.spec_hash = sha256_hex(job.spec_json);
  const double start = seconds_now();
  for (int i = 0; i < submits_per_client; ++i) {
    std::vector<Change> changes;
    for (int j = 0; j < clients; ++j) {
      job.sequence = ++sequence;
      job.id = JobId{"j-" + std::to_string(job.sequence)};
      changes.emplace_back(SaveJob{job});
      changes.emplace_back(
          AppendJobEvent{job.id, "transition", "queued: submitted", "", Reason::queued, 0, {}});
    }
    ENSURE(store->save(changes).has_value());
  }
  return submits_per_client * clients / (seconds_now() - start);
}

double syncs_per_second(const std::string& folder) {
  const int file = ::open((folder + "/sync").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ENSURE(file >= 0);
  const std::string page(4096, 'x');
  constexpr int count = 200;
  const double start = seconds_now();
  for (int i = 0; i < count; ++i) {
    ENSURE(::pwrite(file, page.data(), page.size(), i * 4096) == 4096);
    ENSURE(::fdatasync(file) == 0);
  }
  const double rate = count / (seconds_now() - start);
  ::close(file);
  return rate;
}

BenchResult named(const Samples& samples, std::string case_name, std::string unit) {
  BenchResult result = summary_of(samples);
  result.bench = "submit";
  result.case_name = std::move(case_name);
  result.unit = std::move(unit);
  return result;
}

}  // namespace

std::vector<BenchResult> bench_submit() {
  ServerProcess server;
  std::string one;
  {
    HttpClient client(server.http_address());
    one = "/v1/jobs/" + submit_one(client);
  }
  Latencies submits;
  Latencies reads;
  Samples commits;
  Samples syncs;
  std::uint64_t sequence = 0;
  for (int round = 0; round < rounds; ++round) {
    run_round({server, submits_per_client, [](HttpClient& client) { submit_one(client); }},
              submits);
    run_round({server, reads_per_client,
               [&one](HttpClient& client) { ENSURE(client.get(one).status == 200); }},
              reads);
    commits.add(group_commits_per_second(server.folder(), sequence));
    syncs.add(syncs_per_second(server.folder()));
  }
  BenchResult jobs = named(submits.rate, "POST /v1/jobs, durable, 32 clients", "jobs/s");
  jobs.limit = summary_of(commits).value;
  jobs.limit_of = "Store::save of 32 jobs at a time";
  return {jobs,
          named(submits.median, "POST /v1/jobs, median", "ms"),
          named(submits.slow, "POST /v1/jobs, 99th percentile", "ms"),
          named(reads.rate, "GET /v1/jobs/{id}, 32 clients", "GET/s"),
          named(reads.slow, "GET /v1/jobs/{id}, 99th percentile", "ms"),
          named(commits, "Store::save of 32 jobs at a time", "jobs/s"),
          named(syncs, "write and fdatasync of 4 KiB", "syncs/s")};
}

}  // namespace trainyard::bench
