// A GPU by the plugin libtrainyard-cuda.so, which lies beside the program and needs the driver
// alone. A program that finds none works without.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "runtime/graph/device.h"
#include "schemas/base/result.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

// Beside the program that runs.
std::filesystem::path plugin_path();

// Of this program and of the plugin that it opens: a short digest.
std::string own_build();

// The `number`-th of `count` GPUs that this process sees (CUDA_VISIBLE_DEVICES).
struct WantedGpu {
  int number = 0;
  int count = 1;
  Precision precision = Precision::float32;
  // Those of the host that multiply in tf32 and bfloat16; without, the product's own kernels do.
  bool with_libraries = true;
};

// `unavailable` with a sentence that says what is missing.
Result<std::unique_ptr<Device>> open_gpu(const std::filesystem::path& plugin,
                                         const WantedGpu& wanted);

}  // namespace trainyard::runtime
