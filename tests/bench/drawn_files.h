// Files of random examples, of the shapes that the peers train on: what a job reads beside
// PyTorch's tensors in memory.
#pragma once

#include <cstdint>

#include "schemas/types/job_spec.h"
#include "tests/support/temp_folder.h"

namespace trainyard::bench {

// Each writes `examples` for training, and a few for the test, into the folder.
DatasetSpec drawn_cifar(const TempFolder& folder, std::int64_t examples);  // [32, 32, 3]
DatasetSpec drawn_lines(const TempFolder& folder, std::int64_t examples);  // [32, 128, 1], 4 digits
DatasetSpec drawn_tokens(const TempFolder& folder, std::int64_t examples);  // [128], below 96

}  // namespace trainyard::bench
