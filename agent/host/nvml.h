// NVIDIA's management library, which is loaded at run time: what GPUs a host has, and what they
// show of themselves. Its functions and structures are declared here as its documentation has them:
// the header is not on every machine that builds Trainyard.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "schemas/types/gpu.h"

namespace trainyard::agent {

// `reading.strangers` stays empty: whose processes they are the caller finds out.
struct GpuUse {
  std::string uuid;  // "": not known
  GpuReading reading;
  std::vector<GpuProcess> processes;  // that compute on it; a display server's are not listed
};

class Nvml {
 public:
  static constexpr const char* default_library = "libnvidia-ml.so.1";

  explicit Nvml(const std::string& library = default_library);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] bool is_there() const { return library_ != nullptr; }
  // Why the library cannot be used; "" where it can.
  [[nodiscard]] const std::string& problem() const { return problem_; }

  // In the order of the PCI bus. A GPU that does not answer keeps its number and says nothing more
  // of itself.
  [[nodiscard]] std::vector<GpuInfo> gpus() const;
  // What each shows now, in the same order.
  [[nodiscard]] std::vector<GpuUse> read() const;

 private:
  using Device = struct DeviceHandle*;

  template <class Function>
  [[nodiscard]] Function* find(const char* name) const;
  // False where there is no such function, or it does not succeed.
  template <class... Parameters, class... Arguments>
  bool ask(int (*function)(Parameters...), Arguments... arguments) const;

  [[nodiscard]] std::vector<Device> devices() const;  // nullptr: one that does not answer
  [[nodiscard]] std::vector<std::string> uuids_of(const std::vector<Device>& devices) const;
  [[nodiscard]] GpuInfo describe(Device device) const;  // all but its UUID and its peers
  [[nodiscard]] std::optional<int> numa_node_of(Device device) const;
  [[nodiscard]] bool are_peers(Device one, Device other) const;
  [[nodiscard]] GpuUse read(Device device) const;
  void add_processes(Device device, const char* function, std::vector<GpuProcess>& to) const;

  void* library_;
  bool started_ = false;
  std::string problem_;
};

}  // namespace trainyard::agent
