// PyTorch as a peer, where Debian's python3-torch is installed: its figures come from the same
// runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schemas/types/job_spec.h"

namespace trainyard::bench {

enum class PytorchMode { one_process, ddp_of_two };

// Examples per second of all processes; nothing where there is no PyTorch.
std::optional<double> pytorch_examples_per_second(PytorchMode mode, const ModelSpec& model,
                                                  std::int64_t batch_size);

}  // namespace trainyard::bench
