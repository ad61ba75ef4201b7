// Memory that is a device's: its own, or memory of the host that its copies need not wait for. It
// grows when more is asked for; what was in it is lost then.
#pragma once

#include <cstddef>

#include "runtime/graph/device.h"

namespace trainyard::runtime {

class DeviceBuffer {
 public:
  enum class On { device, host };
  explicit DeviceBuffer(Device& device, On on = On::device) : device_(&device), on_(on) {}
  ~DeviceBuffer() { release(); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // Throws DeviceFailed where there is too little.
  std::byte* of(std::size_t bytes);
  float* floats(std::size_t count) { return reinterpret_cast<float*>(of(count * sizeof(float))); }

 private:
  [[noreturn]] void refuse(std::size_t bytes) const;
  void release();

  Device* device_;
  On on_;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace trainyard::runtime
