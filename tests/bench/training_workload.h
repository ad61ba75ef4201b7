// A network, its data and its peers, and how whole jobs of it are measured: one process alone, 1 ps
// with 2 workers, and an all-reduce of two, beside PyTorch.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "schemas/model/written.h"
#include "schemas/types/job_spec.h"
#include "tests/bench/bench.h"
#include "tests/bench/pytorch_peer.h"

namespace trainyard::bench {

// PyTorch training the same, in one way.
struct PeerRate {
  double examples_per_second = 0;
  double cpu_seconds_per_example = 0;  // 0: not measured
};
struct Peer {
  std::string name;
  std::function<std::optional<PeerRate>()> measure;  // nothing where there is no PyTorch
};

struct Setting {
  std::string name;
  Mode mode = Mode::sync;
  Strategy strategy = Strategy::parameter_server;
  std::int64_t workers = 2;

  [[nodiscard]] std::int64_t batches_per_step() const { return mode == Mode::sync ? workers : 1; }
};

// The first is of one process alone.
std::vector<Setting> sync_settings();
std::vector<Setting> all_settings();  // with the asynchronous one

struct Workload {
  std::string name;
  model::Written model;
  DatasetSpec dataset;
  std::int64_t batch_size = 0;  // of a worker
  std::int64_t batches = 0;     // of all workers together
  std::vector<Setting> settings = all_settings();
  int runs = 7;
  Peer ddp;  // of two processes: ours of two are divided by it, run by run
  std::vector<Peer> other_peers = {};
};

// 5,000 synthetic digits.
DatasetSpec digits_to_train();

std::vector<BenchResult> bench_training(const Workload& workload);

}  // namespace trainyard::bench
