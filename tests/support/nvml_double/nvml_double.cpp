// Stands for libnvidia-ml.so.1. What it shows is read anew at each call from the file that
// NVML_DOUBLE names, a line for each thing:
//   init CODE                                      of nvmlInit; 0 where there is no such line
//   gpu UUID MEMORY_MB CELSIUS MILLIWATTS PERCENT USED_MB NUMA_NODE NAME...
//   silent INDEX                                   the GPU does not answer
//   peers INDEX INDEX                              NVLink between them
//   process INDEX PID MEMORY_MB                    MEMORY_MB -1: the driver does not tell
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr int success = 0;
constexpr int invalid_argument = 2;
constexpr int not_supported = 3;
constexpr int insufficient_size = 7;
constexpr int is_lost = 15;

struct Gpu {
  std::string uuid, name;
  std::int64_t memory_mb = 0, celsius = 0, milliwatts = 0, percent = 0, used_mb = 0, numa_node = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> processes;
  bool is_silent = false;
};

struct Shown {
  int init = success;
  std::vector<Gpu> gpus;
  std::set<std::pair<std::size_t, std::size_t>> peers;
};

Shown shown() {
  Shown all;
  const char* const path = std::getenv("NVML_DOUBLE");
  std::ifstream file(path != nullptr ? path : "");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    std::size_t index = 0, other = 0;
    if (kind == "init") words >> all.init;
    if (kind == "gpu") {
      Gpu& gpu = all.gpus.emplace_back();
      words >> gpu.uuid >> gpu.memory_mb >> gpu.celsius >> gpu.milliwatts >> gpu.percent >>
          gpu.used_mb >> gpu.numa_node >> std::ws;
      std::getline(words, gpu.name);
    }
    if (kind == "silent" && words >> index) all.gpus.at(index).is_silent = true;
    if (kind == "peers" && words >> index >> other) {
      all.peers.insert({index, other});
      all.peers.insert({other, index});
    }
    std::int64_t pid = 0, memory_mb = 0;
    if (kind == "process" && words >> index >> pid >> memory_mb) {
      all.gpus.at(index).processes.emplace_back(pid, memory_mb);
    }
  }
  return all;
}

std::size_t index_of(const void* device) { return reinterpret_cast<std::uintptr_t>(device) - 1; }

// A GPU of the moment; one that is gone from the file is lost.
template <class Use>
int with_gpu(const void* device, Use use) {
  const Shown all = shown();
  if (device == nullptr || index_of(device) >= all.gpus.size()) return is_lost;
  return use(all.gpus[index_of(device)]);
}

// One that is too long fills all of the room, and has no end, as the library's own never would.
int give_text(const std::string& text, char* to, unsigned size) {
  std::memcpy(to, text.c_str(), std::min<std::size_t>(size, text.size() + 1));
  return success;
}

int give(std::int64_t value, unsigned* to) {
  if (value < 0) return not_supported;
  *to = static_cast<unsigned>(value);
  return success;
}

struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

extern "C" {

int nvmlInit_v2() { return shown().init; }
int nvmlShutdown() { return success; }
const char* nvmlErrorString(int code) {
  return code == 18 ? "Driver/library version mismatch" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(shown().gpus.size());
  return success;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  const Shown all = shown();
  if (index >= all.gpus.size()) return invalid_argument;
  if (all.gpus[index].is_silent) return is_lost;
  *device = reinterpret_cast<void*>(std::uintptr_t{index} + 1);
  return success;
}

int nvmlDeviceGetName(const void* device, char* to, unsigned size) {
  return with_gpu(device, [&](const Gpu& gpu) { return give_text(gpu.name, to, size); });
}

int nvmlDeviceGetUUID(const void* device, char* to, unsigned size) {
  return with_gpu(device, [&](const Gpu& gpu) { return give_text(gpu.uuid, to, size); });
}

int nvmlDeviceGetMemoryInfo(const void* device, Memory* memory) {
  return with_gpu(device, [&](const Gpu& gpu) {
    const auto total = static_cast<unsigned long long>(gpu.memory_mb) << 20;
    const auto used = static_cast<unsigned long long>(gpu.used_mb) << 20;
    *memory = {total, total - used, used};
    return success;
  });
}

int nvmlDeviceGetNumaNodeId(const void* device, unsigned* node) {
  return with_gpu(device, [&](const Gpu& gpu) { return give(gpu.numa_node, node); });
}

int nvmlDeviceGetP2PStatus(const void* one, const void* other, int, int* status) {
  *status = shown().peers.contains({index_of(one), index_of(other)}) ? 0 : 3;
  return success;
}

int nvmlDeviceGetTemperature(const void* device, int, unsigned* celsius) {
  return with_gpu(device, [&](const Gpu& gpu) { return give(gpu.celsius, celsius); });
}

int nvmlDeviceGetPowerUsage(const void* device, unsigned* milliwatts) {
  return with_gpu(device, [&](const Gpu& gpu) { return give(gpu.milliwatts, milliwatts); });
}

int nvmlDeviceGetUtilizationRates(const void* device, Utilization* rates) {
  return with_gpu(device, [&](const Gpu& gpu) { return give(gpu.percent, &rates->gpu); });
}

int nvmlDeviceGetComputeRunningProcesses_v3(const void* device, unsigned* count, Process* to) {
  return with_gpu(device, [&](const Gpu& gpu) {
    const unsigned room = std::exchange(*count, static_cast<unsigned>(gpu.processes.size()));
    if (room < gpu.processes.size()) return insufficient_size;
    for (const auto& [pid, memory_mb] : gpu.processes) {
      const auto bytes = memory_mb < 0 ? std::numeric_limits<unsigned long long>::max()
                                       : static_cast<unsigned long long>(memory_mb) << 20;
      *to++ = {static_cast<unsigned>(pid), bytes, 0, 0};
    }
    return success;
  });
}

}  // extern "C"
