// What the GPUs of all agents showed when the scheduler's thread last looked, for /metrics: written
// by that thread, read by any.
#pragma once

#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "schemas/types/gpu.h"

namespace trainyard::scheduler {

struct ShownGpu {
  std::string agent;
  GpuInfo gpu;
  GpuReading reading;
};

class GpuBoard {
 public:
  void show(std::vector<ShownGpu> gpus) {
    const std::lock_guard lock(mutex_);
    gpus_ = std::move(gpus);
  }
  [[nodiscard]] std::vector<ShownGpu> shown() const {
    const std::lock_guard lock(mutex_);
    return gpus_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<ShownGpu> gpus_;  // guarded by mutex_; as many as reports may have
};

}  // namespace trainyard::scheduler
