// Training of multilayer perceptrons as users run it, beside PyTorch in four ways.
#include <array>
#include <utility>

#include "tests/bench/training_workload.h"

namespace trainyard::bench {
namespace {

Workload mlp_workload(std::string name, const PeerMlp& model, std::int64_t batch_size,
                      std::int64_t batches) {
  const auto peer_of = [&](PytorchMode mode, const char* peer) -> Peer {
    return {peer, [mode, model, batch_size]() -> std::optional<PeerRate> {
              const auto rate = pytorch_examples_per_second(mode, model, batch_size);
              if (!rate) return std::nullopt;
              return PeerRate{.examples_per_second = *rate};
            }};
  };
  using enum PytorchMode;
  return {.name = std::move(name),
          .model = model.written(),
          .dataset = digits_to_train(),
          .batch_size = batch_size,
          .batches = batches,
          .ddp = peer_of(ddp_of_two, "PyTorch DDP, two processes"),
          .other_peers = {peer_of(one_process, "PyTorch, one process"),
                          peer_of(rpc_sync, "PyTorch RPC, 1 ps 2 workers sync"),
                          peer_of(rpc_async, "PyTorch RPC, 1 ps 2 workers async")}};
}

}  // namespace

std::vector<BenchResult> bench_train_mlp() {
  return bench_training(mlp_workload("train_mlp", {{100}, "sigmoid"}, 100, 4000));
}

std::vector<BenchResult> bench_train_big_mlp() {
  return bench_training(mlp_workload("train_big_mlp", {{2048, 2048}, "relu"}, 128, 80));
}

}  // namespace trainyard::bench
