// A GPU of a host: what it is, what it shows of itself from time to time, and what a task asks of
// one. A slot is one GPU; its number is the GPU's index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/base/id.h"
#include "schemas/types/product_rates.h"

namespace trainyard {

// That computes on GPUs: a library beside trainyard-runtime.
inline constexpr const char* gpu_plugin_name = "libtrainyard-cuda.so";

inline constexpr std::size_t gpu_uuid_max = 96;

// A '/' is in those of a part of a GPU (MIG). No ',': CUDA_VISIBLE_DEVICES is a list of them.
constexpr bool is_gpu_uuid_letter(char byte) { return byte == '/' || is_id_letter(byte); }

inline bool is_gpu_uuid(std::string_view text) {
  return !text.empty() && text.size() <= gpu_uuid_max &&
         std::ranges::all_of(text, is_gpu_uuid_letter);
}

// Of slots that the driver shows nothing of.
inline constexpr std::string_view declared_gpu_name = "declared";
inline constexpr std::string_view unknown_gpu_name = "unknown";

// Constant for one start of its agent.
struct GpuInfo {
  int index = 0;
  std::string name;
  std::int64_t memory_mb = 0;           // 0: not known
  std::string uuid = {};                // "": not known
  std::optional<int> numa_node = {};    // nothing: not known, or the host has only one
  std::vector<std::string> peers = {};  // UUIDs of the host's GPUs that NVLink reaches directly
  ProductRates product_rates = {};      // of its kind, on this host
  bool operator==(const GpuInfo&) const = default;
};

// A process that uses a GPU.
struct GpuProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> memory_mb = {};  // nothing: the driver does not tell
  bool operator==(const GpuProcess&) const = default;
};

inline constexpr std::size_t gpu_strangers_max = 8;  // named for each GPU, those that use most

// What a GPU shows of itself at the time of a report; what it does not tell is nothing.
struct GpuReading {
  int index = 0;
  std::optional<std::int64_t> temperature_celsius = {};
  std::optional<std::int64_t> power_milliwatts = {};
  std::optional<std::int64_t> utilization_percent = {};
  std::optional<std::int64_t> memory_used_mb = {};
  // Processes that belong to no task which the agent started on this slot.
  std::vector<GpuProcess> strangers = {};
  bool operator==(const GpuReading&) const = default;
};

// What a task asks of each of its GPUs.
struct GpuWish {
  std::string name = {};       // the GPU's name contains it, in upper or lower case; "": any
  std::int64_t memory_mb = 0;  // the GPU has so much, or more
  bool operator==(const GpuWish&) const = default;
};

constexpr char to_lower(char byte) {
  return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

inline bool has_name(const GpuInfo& gpu, std::string_view wanted) {
  const auto is_same = [](char a, char b) { return to_lower(a) == to_lower(b); };
  return std::search(gpu.name.begin(), gpu.name.end(), wanted.begin(), wanted.end(), is_same) !=
             gpu.name.end() ||
         wanted.empty();
}

inline bool grants(const GpuInfo& gpu, const GpuWish& wish) {
  return gpu.memory_mb >= wish.memory_mb && has_name(gpu, wish.name);
}

}  // namespace trainyard
