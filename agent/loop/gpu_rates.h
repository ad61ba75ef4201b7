// How fast the GPUs of this host make products of matrices: read from the work folder, or measured
// by the runtime, once for each kind of GPU and each build. What goes wrong is logged, and leaves
// the rates of the kind unknown.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agent/host/process.h"
#include "schemas/types/gpu.h"

namespace trainyard::agent {

struct GpuRatesOptions {
  std::string runtime;       // the program; its plugin lies beside it
  std::string folder;        // to start it in
  std::string file;          // where rates are kept
  std::string nvml_library;  // that tells who uses a GPU
  // Of all measurements together: the server waits for the agent, and gives its tasks to others
  // when that takes too long.
  std::chrono::milliseconds deadline{60'000};
};

class GpuRates {
 public:
  explicit GpuRates(GpuRatesOptions options) : options_(std::move(options)) {}

  // Fills in the rates of those that the driver shows. No process is started where there is no
  // plugin, where all rates are kept, and on a GPU that somebody uses.
  void learn(std::vector<GpuInfo>& gpus, const std::stop_token& stop);

 private:
  ProductRates measure_kind(const std::string& name, const std::vector<GpuInfo>& gpus,
                            const std::stop_token& stop);
  ProductRates measure(const GpuInfo& gpu, const std::stop_token& stop);

  using Clock = std::chrono::steady_clock;
  const GpuRatesOptions options_;
  Clock::time_point until_;
  std::optional<ProcessHost> processes_;  // of a measurement that does not end even when killed
};

}  // namespace trainyard::agent
