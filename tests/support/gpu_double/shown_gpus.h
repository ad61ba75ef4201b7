// What the double of the plugin shows: read at each request from a file `gpus` beside it, a line
// for each thing.
//   gpu UUID MEMORY_MB MAJOR MINOR NAME...   in the order of the driver
//   driver MAJOR MINOR                       the CUDA that the driver knows
//   build ID                                 of which the plugin pretends to be
//   toolkit NAME...                          by which
//   libraries                                of all GPUs above: multiply in tf32 and bfloat16
//   broadcasts                               as where NCCL is
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace trainyard::gpu_double {

struct ShownGpu {
  std::string uuid;
  std::size_t memory_mb = 0;
  int major = 0;
  int minor = 0;
  std::string name;
  bool has_libraries = false;
};

struct ShownGpus {
  std::vector<ShownGpu> gpus;
  int driver_major = 13;
  int driver_minor = 0;
  std::string build;  // "": the one that it is of
  std::string toolkit = "nvcc 13.0.0";
  bool broadcasts = false;
};

// Throws std::runtime_error where there is no such file, or a line of it is none of the above.
ShownGpus shown_in(const std::filesystem::path& file);

// Those that a process with this CUDA_VISIBLE_DEVICES sees, in its order; null: all. As with the
// driver, a word that names no GPU ends the list.
std::vector<ShownGpu> visible_of(const std::vector<ShownGpu>& gpus, const char* visible);

}  // namespace trainyard::gpu_double
