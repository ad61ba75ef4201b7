// Training between two hosts that a link of 1 or 10 Gbit/s joins, one core for each: a large MLP,
// beside PyTorch's DDP.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "schemas/base/check.h"
#include "schemas/base/index.h"
#include "schemas/wire/job_spec_json.h"
#include "tests/bench/bench.h"
#include "tests/bench/pytorch_peer.h"
#include "tests/bench/training_run.h"
#include "tests/support/two_hosts.h"

namespace trainyard::bench {
namespace {

constexpr int rounds = 3;
constexpr std::int64_t batch_size = 128;

const PeerMlp& large_mlp() {
  static const PeerMlp model{.hidden = {2048, 2048}, .activation = "relu"};
  return model;
}

struct Case {
  std::string name;
  WireSpec wire = {};
  Strategy strategy = Strategy::parameter_server;
  int ps = 1;
  int workers = 2;
};

// How many workers PyTorch has beside it.
std::string peer_of(int workers) { return "PyTorch DDP of " + std::to_string(workers); }

JobSpec job_of(const Case& setting, std::int64_t steps) {
  const auto parsed = parse_job_spec(R"({
    "model": "mlp", "mode": "sync", "roles": {"ps": 1, "worker": 2},
    "dataset": {"name": "synthetic_digits", "train_examples": 5000, "test_examples": 100}})");
  ENSURE(std::holds_alternative<JobSpec>(parsed));
  JobSpec spec = std::get<JobSpec>(parsed);
  spec.model = large_mlp().written();
  spec.training.strategy = setting.strategy;
  spec.training.wire = setting.wire;
  spec.training.batch_size = batch_size;
  spec.training.epochs.reset();
  spec.training.max_steps = steps;
  spec.training.optimizer.learning_rate = 0.1;
  spec.training.report_every_steps = steps / 10;
  spec.training.evaluate_every_steps = INT32_MAX;
  spec.ps.replicas = setting.ps;
  spec.worker.replicas = setting.workers;
  spec.checkpoint.every_steps = 0;
  spec.checkpoint.every_seconds = 0;
  return spec;
}

double rate_of(const Case& setting, const TwoHosts& hosts, std::int64_t steps) {
  const Seat here{TwoHosts::address(0), hosts.at(0, 0)};
  const Seat there{TwoHosts::address(1), hosts.at(1, 1)};
  const auto folder =
      std::filesystem::temp_directory_path() / ("trainyard-bench-" + std::to_string(::getpid()));
  Seats seats{.ps = {here, there}, .workers = {here, there, here, there}};
  seats.ps.resize(index_of(setting.ps));
  seats.workers.resize(index_of(setting.workers));
  return TrainingRun(job_of(setting, steps), folder, seats).rates().steps_per_second;
}

std::vector<BenchResult> bench_link(const std::string& rate, std::int64_t steps) {
  constexpr WireSpec bfloat16 = wire_by_word(Wire::bfloat16);
  constexpr WireSpec signs{.push = Wire::onebit, .pull = Wire::bfloat16};
  std::vector<Case> cases{
      {.name = "1 ps 2 workers, float32"},
      {.name = "1 ps 2 workers, bfloat16", .wire = bfloat16},
      {.name = "1 ps 2 workers, onebit and bfloat16", .wire = signs},
      {.name = "all-reduce of 2, float32", .strategy = Strategy::all_reduce, .ps = 0},
      {.name = "2 ps 4 workers, float32", .ps = 2, .workers = 4}};
  std::erase_if(cases, [&rate](const Case& of) { return !is_asked_for(rate + ", " + of.name); });
  if (cases.empty()) return {};
  std::set<int> worker_counts;
  for (const Case& of : cases) worker_counts.insert(of.workers);
  std::vector<Samples> samples(cases.size());
  std::map<int, Samples> peers;  // by workers
  const TwoHosts hosts(rate);
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) samples[i].add(rate_of(cases[i], hosts, steps));
    for (const int workers : worker_counts) {
      const auto ddp = pytorch_steps_between_hosts(hosts, large_mlp(), batch_size, workers);
      if (ddp) peers[workers].add(*ddp);
    }
  }
  std::vector<BenchResult> results;
  const auto add = [&](const Samples& of, const std::string& name) {
    BenchResult result = summary_of(of);
    result.bench = "two_hosts";
    result.case_name = rate + ", " + name;
    result.unit = "steps/s";
    results.push_back(result);
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    add(samples[i], cases[i].name);
    const auto peer = peers.find(cases[i].workers);
    if (peer == peers.end()) continue;
    results.back().limit = summary_of(peer->second).value;
    results.back().limit_of = peer_of(cases[i].workers);
  }
  for (const auto& [workers, peer] : peers) add(peer, peer_of(workers) + ", float32");
  return results;
}

}  // namespace

std::vector<BenchResult> bench_two_hosts() {
  if (const auto missing = TwoHosts::missing()) {
    std::fprintf(stderr, "two_hosts: %s\n", missing->c_str());
    std::exit(1);
  }
  std::vector<BenchResult> results = bench_link("1gbit", 40);
  for (BenchResult& result : bench_link("10gbit", 80)) results.push_back(std::move(result));
  return results;
}

}  // namespace trainyard::bench
