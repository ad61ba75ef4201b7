// A GPU by the plugin libtrainyard-cuda.so, which lies beside the program and needs the driver
// alone. A program that finds none works without.
#pragma once

#include <filesystem>
#include <memory>

#include "runtime/graph/device.h"
#include "schemas/base/result.h"

namespace trainyard::runtime {

// Beside the program that runs.
std::filesystem::path plugin_path();

// The `number`-th of `count` GPUs that this process sees (CUDA_VISIBLE_DEVICES); `unavailable` with
// a sentence that says what is missing.
Result<std::unique_ptr<Device>> open_gpu(const std::filesystem::path& plugin, int number,
                                         int count);

}  // namespace trainyard::runtime
