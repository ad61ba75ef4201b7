// Training of a network of each family as users run it, beside PyTorch's DistributedDataParallel of
// two processes: the same layers, batches of the same size, and the same optimizer.
#include <memory>
#include <utility>

#include "runtime/data/dataset.h"
#include "runtime/model/model.h"
#include "schemas/base/check.h"
#include "tests/bench/drawn_files.h"
#include "tests/bench/peer_networks.h"
#include "tests/bench/training_workload.h"

namespace trainyard::bench {
namespace {

// Of the peer's BATCHES of each process.
constexpr std::int64_t batches_of_data = 40;

std::int64_t parameters_of(const Workload& workload) {
  const auto data = runtime::open_dataset(workload.dataset, 1);
  ENSURE(data.has_value());
  const auto model = runtime::Model::build(workload.model, (*data)->shape(),
                                           {.batch_size = workload.batch_size, .seed = 1});
  ENSURE(model.has_value());
  return trained_parameters(*model);
}

// A run of ours is so many batches of all workers together.
std::vector<BenchResult> bench_beside_ddp(const std::string& name, const PytorchNetwork& network,
                                          const DatasetSpec& data, std::int64_t batches) {
  const auto parameters = std::make_shared<std::int64_t>(0);
  const auto peer = std::make_shared<std::optional<PytorchTraining>>();  // as it was last
  Workload workload{
      .name = name,
      .model = peer_network(network.network),
      .dataset = data,
      .batch_size = network.batch_size,
      .batches = batches,
      .settings = sync_settings(),
      .runs = 5,
      .ddp = {.name = "PyTorch DDP, two processes",
              .measure = [network, peer, parameters]() -> std::optional<PeerRate> {
                *peer = pytorch_ddp_training(network);
                if (!*peer) return std::nullopt;
                ENSURE((*peer)->parameters == *parameters);  // else it is other work
                return PeerRate{(*peer)->examples_per_second, (*peer)->cpu_seconds_per_example};
              }}};
  *parameters = parameters_of(workload);
  std::vector<BenchResult> results = bench_training(workload);

  const auto value = static_cast<double>(*parameters);
  BenchResult count{.bench = name,
                    .case_name = "numbers that are trained",
                    .value = value,
                    .unit = "parameters",
                    .n = 1,
                    .min = value,
                    .max = value,
                    .limit_of = ""};
  if (*peer) {
    count.limit = static_cast<double>((*peer)->parameters);
    count.limit_of = "PyTorch's, " + (*peer)->setup;
  }
  results.push_back(std::move(count));
  return results;
}

}  // namespace

std::vector<BenchResult> bench_train_cnn() {
  return bench_beside_ddp("train_cnn", {"lenet5", 64}, digits_to_train(), 800);
}

std::vector<BenchResult> bench_train_cifar_cnn() {
  const TempFolder folder;
  return bench_beside_ddp("train_cifar_cnn", {"cifar_cnn", 64},
                          drawn_cifar(folder, batches_of_data * 64), 60);
}

std::vector<BenchResult> bench_train_lstm() {
  return bench_beside_ddp("train_lstm", {"lstm", 64}, digits_to_train(), 120);
}

std::vector<BenchResult> bench_train_crnn() {
  const TempFolder folder;
  return bench_beside_ddp("train_crnn", {"crnn", 32}, drawn_lines(folder, batches_of_data * 32),
                          40);
}

std::vector<BenchResult> bench_train_gpt() {
  const TempFolder folder;
  return bench_beside_ddp("train_gpt", {"gpt", 16}, drawn_tokens(folder, batches_of_data * 16), 32);
}

}  // namespace trainyard::bench
