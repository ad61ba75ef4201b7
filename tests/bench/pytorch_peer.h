// PyTorch as a peer, where it is installed: Debian's python3-torch, or that of the Python which
// TRAINYARD_BENCH_PYTHON names. Its figures come from the same runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/types/job_spec.h"
#include "tests/support/models.h"
#include "tests/support/two_hosts.h"

namespace trainyard::bench {

// A multilayer perceptron on digits, ours and PyTorch's.
struct PeerMlp {
  std::vector<std::int64_t> hidden;
  std::string activation;

  [[nodiscard]] model::Written written() const { return models::mlp(hidden, activation); }
};

// The last two with a parameter server of torch.distributed.rpc, and two workers.
enum class PytorchMode { one_process, ddp_of_two, rpc_sync, rpc_async };

// Examples per second of all processes; nothing where there is no PyTorch.
std::optional<double> pytorch_examples_per_second(PytorchMode mode, const PeerMlp& model,
                                                  std::int64_t batch_size);

// Steps per second of DDP, so many processes, in turns on either host, which has one core.
std::optional<double> pytorch_steps_between_hosts(const TwoHosts& hosts, const PeerMlp& model,
                                                  std::int64_t batch_size, int processes);

// A network whose layers pytorch_images.py or pytorch_sequences.py has.
struct PytorchNetwork {
  std::string network;
  std::int64_t batch_size = 0;
};
struct PytorchGradient {
  double steps_per_cpu_second = 0;  // forward and backward, one thread
  std::string setup;                // whose matrix products, and of images the layout
};
std::optional<PytorchGradient> pytorch_gradient_rate(const PytorchNetwork& peer);

// On the first GPU, or on so many threads.
struct PytorchPlace {
  bool is_gpu = false;
  std::string_view precision = "float32";
  std::int64_t threads = 1;
};
struct PytorchRates {
  std::vector<double> eager;     // steps per second, forward and backward, run by run
  std::vector<double> compiled;  // none: it is said why
  std::string why_not_compiled;
  std::int64_t parameters = 0;  // as in PytorchTraining
  std::string setup;            // as in PytorchGradient, on a GPU the version
};
// Nothing where PyTorch is not there, or fails.
std::optional<PytorchRates> pytorch_gradient_rates(const PytorchNetwork& peer,
                                                   const PytorchPlace& place);

struct PytorchTraining {
  double examples_per_second = 0;      // of both processes of DDP, one thread each
  double cpu_seconds_per_example = 0;  // of both together
  std::int64_t parameters = 0;         // without the second biases of PyTorch's LSTM
  std::string setup;
};
std::optional<PytorchTraining> pytorch_ddp_training(const PytorchNetwork& peer);

// The sparse peer, one process.
struct PytorchEmbedding {
  std::string model;  // "wide_and_deep", "deepfm"
  std::int64_t rows = 0;
  std::int64_t size = 0;
  std::int64_t batch_size = 0;
  std::int64_t ids_per_example = 0;
  OptimizerName optimizer = OptimizerName::sgd;
};
std::optional<double> pytorch_embedding_examples_per_second(const PytorchEmbedding& peer);

// Whether one is there that computes on a GPU; the first call says so on stderr where not.
bool has_pytorch_on_gpu();

// GFLOP/s of torch.matmul on the first GPU, in a precision by its name, of each product
// "ROWSxINxOUT"; in bfloat16 of matrices that lie in memory so. Nothing where no PyTorch computes
// there.
std::optional<std::vector<double>> pytorch_products_on_gpu(std::string_view precision,
                                                           const std::vector<std::string>& shapes);

}  // namespace trainyard::bench
