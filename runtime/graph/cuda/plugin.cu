// The only symbol that the plugin shows.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/graph/build_id.h"
#include "runtime/graph/cuda/cuda_device.h"
#include "runtime/graph/cuda/plugin.h"

namespace trainyard::runtime {
namespace {

__global__ void no_work() {}

constexpr int least_major = 8;  // sm_80: what the plugin has code for, and all that is newer

void answer_no(DeviceAnswer& answer, const char* why) {
  std::snprintf(answer.why, sizeof answer.why, "%s", why);
}

// Whether the request can be met; else why not is in the answer.
bool is_there(const DeviceRequest& request, DeviceAnswer& answer) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver) {
    int driver = 0;
    if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) {
      answer_no(answer, "this host has no NVIDIA driver");
      return false;
    }
    std::snprintf(answer.why, sizeof answer.why,
                  "the driver is older than CUDA %d.%d needs: it knows CUDA up to %d.%d",
                  CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10, driver / 1000,
                  driver % 1000 / 10);
    return false;
  }
  if (error != cudaSuccess && error != cudaErrorNoDevice) {
    answer_no(answer, cudaGetErrorString(error));
    return false;
  }
  if (count >= request.count) return true;
  std::snprintf(answer.why, sizeof answer.why,
                "GPU slots given: %d; GPUs that the driver shows: %d", request.count, count);
  return false;
}

bool has_code_for(int number, DeviceAnswer& answer) {
  cudaDeviceProp properties{};
  const cudaError_t error = cudaGetDeviceProperties(&properties, number);
  if (error != cudaSuccess) {
    answer_no(answer, cudaGetErrorString(error));
    return false;
  }
  cudaFuncAttributes attributes{};
  cudaSetDevice(number);
  if (properties.major >= least_major &&
      cudaFuncGetAttributes(&attributes, no_work) == cudaSuccess) {
    return true;
  }
  std::snprintf(answer.why, sizeof answer.why, "%s (sm_%d%d) is not among sm_80, sm_90 and newer",
                properties.name, properties.major, properties.minor);
  return false;
}

void answer_request(const DeviceRequest& request, DeviceAnswer& answer) {
  if (std::strcmp(request.build, build_id) != 0) {
    std::snprintf(answer.why, sizeof answer.why,
                  "libtrainyard-cuda.so is of build %.16s, the runtime of %.16s", build_id,
                  request.build);
    return;
  }
  if (!is_there(request, answer) || !has_code_for(request.number, answer)) return;
  auto device = std::make_unique<CudaDevice>(request.number);
  if (device->failure() != nullptr) return answer_no(answer, device->failure());
  answer.device = device.release();
}

}  // namespace
}  // namespace trainyard::runtime

extern "C" __attribute__((visibility("default"))) void trainyard_device_v1(
    const trainyard::runtime::DeviceRequest* request, trainyard::runtime::DeviceAnswer* answer) {
  trainyard::runtime::answer_request(*request, *answer);
}
