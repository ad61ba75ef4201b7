// What libtrainyard-cuda.so is asked and answers, and the sentences of those answers that the
// tests' double gives, too.
#pragma once

#include <cstdint>
#include <cstdio>

#include "runtime/graph/device.h"
#include "schemas/types/precision.h"

namespace trainyard::runtime {

inline constexpr const char* plugin_symbol = "trainyard_device_v1";

struct DeviceRequest {
  const char* build = nullptr;  // of who asks: another build's plugin has other types
  int number = 0;               // among those that the driver shows
  int count = 1;                // so many are wanted in all
  Precision precision = Precision::float32;
  bool with_libraries = true;
};

struct DeviceAnswer {
  Device* device = nullptr;  // or null, and why
  char why[512] = {};
};

using AskPlugin = void (*)(const DeviceRequest* request, DeviceAnswer* answer);

// What the plugin has code for begins with sm_80, and ends with sm_90: above it has PTX
// (schemas/cuda_options.cmake).
inline constexpr int least_compute_major = 8;
inline constexpr int newest_compute_major = 9;

inline void answer_no(DeviceAnswer& answer, const char* why) {
  std::snprintf(answer.why, sizeof answer.why, "%s", why);
}

inline void answer_other_build(DeviceAnswer& answer, const char* plugin, const char* runtime) {
  std::snprintf(answer.why, sizeof answer.why,
                "libtrainyard-cuda.so is of build %.16s, the runtime of %.16s", plugin, runtime);
}

// `driver`: the CUDA that it knows, as `cuda`, the one of the build: 1000 * major + 10 * minor.
inline void answer_old_driver(DeviceAnswer& answer, int cuda, int driver) {
  std::snprintf(answer.why, sizeof answer.why,
                "the driver is older than CUDA %d.%d needs: it knows CUDA up to %d.%d", cuda / 1000,
                cuda % 1000 / 10, driver / 1000, driver % 1000 / 10);
}

inline void answer_too_few(DeviceAnswer& answer, int wanted, int shown) {
  std::snprintf(answer.why, sizeof answer.why,
                "GPU slots given: %d; GPUs that the driver shows: %d", wanted, shown);
}

inline void answer_no_code(DeviceAnswer& answer, const char* name, int major, int minor) {
  std::snprintf(answer.why, sizeof answer.why, "%s (sm_%d%d) is not among sm_80, sm_90 and newer",
                name, major, minor);
}

}  // namespace trainyard::runtime
