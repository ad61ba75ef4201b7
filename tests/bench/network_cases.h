// The networks whose gradients compute measures, ours and PyTorch's, with the sizes of their
// batches, and a batch of each that is the same every time.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/data/dataset.h"
#include "tests/bench/pytorch_peer.h"

namespace trainyard::bench {

struct NetworkCase {
  PytorchNetwork peer;
  runtime::DataShape data;
};

// One of each family of models, of which a core computes a step in a second or so.
std::vector<NetworkCase> cases_for_cores();

// The same with batches that keep a GPU busy, and two that are as large as people train: resnet18
// of images of 224 x 224, and gpt2_small of 1,024 tokens.
std::vector<NetworkCase> cases_for_gpu();

runtime::Batch drawn_batch(const NetworkCase& of);

}  // namespace trainyard::bench
