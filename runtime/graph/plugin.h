// What libtrainyard-cuda.so is asked and answers. Plain data: the two may have been linked with
// different standard libraries.
#pragma once

#include <cstdint>

#include "runtime/graph/device.h"

namespace trainyard::runtime {

inline constexpr const char* plugin_symbol = "trainyard_device_v1";

struct DeviceRequest {
  const char* build = nullptr;  // of who asks: another build's plugin has other types
  int number = 0;               // among those that the driver shows
  int count = 1;                // so many are wanted in all
};

struct DeviceAnswer {
  Device* device = nullptr;  // or null, and why
  char why[512] = {};
};

using AskPlugin = void (*)(const DeviceRequest* request, DeviceAnswer* answer);

}  // namespace trainyard::runtime
