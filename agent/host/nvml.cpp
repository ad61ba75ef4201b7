#include "agent/host/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "schemas/files/whole_file.h"

namespace trainyard::agent {
namespace {

constexpr int nvml_success = 0;
constexpr int insufficient_size = 7;
constexpr std::size_t text_bytes = 96;  // of names and UUIDs, the final zero included
constexpr unsigned devices_max = 1024;  // as many as an agent may offer
constexpr unsigned processes_max = 4096;

// --- structures of the library

struct NvmlMemory {
  unsigned long long total = 0, free = 0, used = 0;
};
struct NvmlUtilization {
  unsigned gpu = 0, memory = 0;  // percent
};
struct NvmlPci {
  char bus_id_legacy[16] = {};
  unsigned domain = 0, bus = 0, device = 0, device_id = 0, subsystem_id = 0;
  char bus_id[32] = {};
};
struct NvmlProcess {
  unsigned pid = 0;
  unsigned long long used_bytes = 0;  // the largest number: not known
  unsigned gpu_instance = 0, compute_instance = 0;
};

// Of ASCII, as the library says of its texts; another byte is shown as '?', since the server takes
// no report with control characters, and cuts no name.
std::string text_in(const std::array<char, text_bytes>& bytes) {
  std::string text(bytes.begin(), std::ranges::find(bytes, '\0'));
  std::ranges::replace_if(
      text, [](char byte) { return byte < ' ' || byte > '~'; }, '?');
  return text;
}

// Bounded as reports are: a driver that errs must not make the server refuse all of them.
std::int64_t mebibytes(unsigned long long bytes) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  return std::min(most, static_cast<std::int64_t>(bytes >> 20));
}

// "0000:3b:00.0", as the kernel names the device's folder.
std::string kernel_name_of(const NvmlPci& pci) {
  const auto hex = [](unsigned value, std::size_t digits) {
    std::array<char, 8> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16).ptr;
    std::string number(text.data(), end);
    return std::string(digits - std::min(digits, number.size()), '0') + number;
  };
  return hex(pci.domain, 4) + ":" + hex(pci.bus, 2) + ":" + hex(pci.device, 2) + ".0";
}

}  // namespace

Nvml::Nvml(const std::string& library)
    : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) {
    problem_ = ::dlerror();
    return;
  }
  const auto start = find<int()>("nvmlInit_v2");
  const int code = start == nullptr ? nvml_success : start();
  started_ = start != nullptr && code == nvml_success;
  if (started_) return;
  const auto words_for = find<const char*(int)>("nvmlErrorString");
  problem_ = library + (start == nullptr ? " has no nvmlInit_v2" : " does not start: ");
  if (start != nullptr) {
    problem_ += words_for != nullptr ? words_for(code) : "error " + std::to_string(code);
  }
}

Nvml::~Nvml() {
  if (const auto shutdown = find<int()>("nvmlShutdown"); started_ && shutdown != nullptr) {
    shutdown();
  }
  if (library_ != nullptr) ::dlclose(library_);
}

template <class Function>
Function* Nvml::find(const char* name) const {
  if (library_ == nullptr) return nullptr;
  return reinterpret_cast<Function*>(::dlsym(library_, name));
}

template <class... Parameters, class... Arguments>
bool Nvml::ask(int (*function)(Parameters...), Arguments... arguments) const {
  return function != nullptr && function(arguments...) == nvml_success;
}

std::vector<GpuInfo> Nvml::gpus() const {
  const std::vector<Device> found = devices();
  std::vector<GpuInfo> gpus;
  const std::vector<std::string> uuids = uuids_of(found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    gpus.push_back(describe(found[i]));
    gpus.back().index = static_cast<int>(i);
    gpus.back().uuid = uuids[i];
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t other = 0; other < found.size(); ++other) {
      if (other == i || gpus[other].uuid.empty() || !are_peers(found[i], found[other])) continue;
      gpus[i].peers.push_back(gpus[other].uuid);
    }
  }
  return gpus;
}

std::vector<GpuUse> Nvml::read() const {
  const std::vector<Device> found = devices();
  const std::vector<std::string> uuids = uuids_of(found);
  std::vector<GpuUse> uses;
  for (std::size_t i = 0; i < found.size(); ++i) {
    uses.push_back(read(found[i]));
    uses.back().reading.index = static_cast<int>(i);
    uses.back().uuid = uuids[i];
  }
  return uses;
}

std::vector<Nvml::Device> Nvml::devices() const {
  unsigned count = 0;
  if (!started_ || !ask(find<int(unsigned*)>("nvmlDeviceGetCount_v2"), &count)) return {};
  std::vector<Device> found(std::min(count, devices_max), nullptr);
  const auto handle_of = find<int(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2");
  for (unsigned index = 0; index < found.size(); ++index) {
    if (!ask(handle_of, index, &found[index])) found[index] = nullptr;
  }
  return found;
}

// "" where there is none that names this GPU and no other.
std::vector<std::string> Nvml::uuids_of(const std::vector<Device>& devices) const {
  using TextOf = int(Device, char*, unsigned);
  const auto uuid_of = find<TextOf>("nvmlDeviceGetUUID");
  std::vector<std::string> uuids;
  for (const Device device : devices) {
    std::array<char, text_bytes> text{};
    std::string uuid;
    if (device != nullptr && ask(uuid_of, device, text.data(), static_cast<unsigned>(text.size())))
      uuid = text_in(text);
    const bool is_good = is_gpu_uuid(uuid) && std::ranges::count(uuids, uuid) == 0;
    uuids.push_back(is_good ? std::move(uuid) : std::string());
  }
  return uuids;
}

GpuInfo Nvml::describe(Device device) const {
  GpuInfo gpu{.name = std::string(unknown_gpu_name)};
  if (device == nullptr) return gpu;
  using TextOf = int(Device, char*, unsigned);
  std::array<char, text_bytes> text{};
  const auto size = static_cast<unsigned>(text.size());
  if (ask(find<TextOf>("nvmlDeviceGetName"), device, text.data(), size)) gpu.name = text_in(text);
  NvmlMemory memory;
  if (ask(find<int(Device, NvmlMemory*)>("nvmlDeviceGetMemoryInfo"), device, &memory)) {
    gpu.memory_mb = mebibytes(memory.total);
  }
  gpu.numa_node = numa_node_of(device);
  return gpu;
}

// Drivers of before 2023 do not tell; the kernel does, -1 where there is only one node.
std::optional<int> Nvml::numa_node_of(Device device) const {
  unsigned node = 0;
  constexpr unsigned node_max = 65'535;
  const auto node_of = find<int(Device, unsigned*)>("nvmlDeviceGetNumaNodeId");
  if (ask(node_of, device, &node) && node <= node_max) return static_cast<int>(node);
  NvmlPci pci;
  if (!ask(find<int(Device, NvmlPci*)>("nvmlDeviceGetPciInfo_v3"), device, &pci))
    return std::nullopt;
  const auto text = read_file("/sys/bus/pci/devices/" + kernel_name_of(pci) + "/numa_node");
  int of_kernel = -1;
  if (text) std::from_chars(text->data(), text->data() + text->size(), of_kernel);
  return of_kernel >= 0 ? std::optional(of_kernel) : std::nullopt;
}

// A switch between them counts, too: it is by NVLink all the same.
bool Nvml::are_peers(Device one, Device other) const {
  constexpr int by_nvlink = 2;
  constexpr int works = 0;
  int status = -1;
  const auto status_of = find<int(Device, Device, int, int*)>("nvmlDeviceGetP2PStatus");
  return one != nullptr && other != nullptr && ask(status_of, one, other, by_nvlink, &status) &&
         status == works;
}

GpuUse Nvml::read(Device device) const {
  GpuUse use;
  if (device == nullptr) return use;
  using NumberOf = int(Device, unsigned*);
  unsigned number = 0;
  constexpr int of_the_chip = 0;
  const auto temperature_of = find<int(Device, int, unsigned*)>("nvmlDeviceGetTemperature");
  if (ask(temperature_of, device, of_the_chip, &number) && number < 1000) {
    use.reading.temperature_celsius = number;
  }
  if (ask(find<NumberOf>("nvmlDeviceGetPowerUsage"), device, &number) && number < 100'000'000) {
    use.reading.power_milliwatts = number;
  }
  NvmlUtilization rates;
  if (ask(find<int(Device, NvmlUtilization*)>("nvmlDeviceGetUtilizationRates"), device, &rates)) {
    use.reading.utilization_percent = std::min(rates.gpu, 100U);
  }
  NvmlMemory memory;
  if (ask(find<int(Device, NvmlMemory*)>("nvmlDeviceGetMemoryInfo"), device, &memory)) {
    use.reading.memory_used_mb = mebibytes(memory.used);
  }
  // Not those of graphics: a card with a screen has one for as long as it runs.
  add_processes(device, "nvmlDeviceGetComputeRunningProcesses_v3", use.processes);
  add_processes(device, "nvmlDeviceGetMPSComputeRunningProcesses_v3", use.processes);
  return use;
}

void Nvml::add_processes(Device device, const char* function, std::vector<GpuProcess>& to) const {
  const auto list = find<int(Device, unsigned*, NvmlProcess*)>(function);
  if (list == nullptr) return;
  std::vector<NvmlProcess> processes(16);
  auto count = static_cast<unsigned>(processes.size());
  int code = list(device, &count, processes.data());
  // Others may begin between the two calls.
  for (int tries = 0; code == insufficient_size && tries < 3; ++tries) {
    processes.resize(std::min(count, processes_max) + 16);
    count = static_cast<unsigned>(processes.size());
    code = list(device, &count, processes.data());
  }
  if (code != nvml_success) return;
  processes.resize(std::min<std::size_t>(count, processes.size()));
  constexpr unsigned pid_max = 1U << 30;
  for (const NvmlProcess& process : processes) {
    if (process.pid == 0 || process.pid > pid_max) continue;
    GpuProcess shown{.pid = process.pid};
    if (process.used_bytes != std::numeric_limits<unsigned long long>::max()) {
      shown.memory_mb = mebibytes(process.used_bytes);
    }
    if (std::ranges::count(to, shown.pid, &GpuProcess::pid) == 0) to.push_back(shown);
  }
}

}  // namespace trainyard::agent
