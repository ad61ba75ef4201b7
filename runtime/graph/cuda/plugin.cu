// The only symbol that the plugin shows.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/graph/build_id.h"
#include "runtime/graph/cuda/cuda_device.h"
#include "runtime/graph/plugin.h"

namespace trainyard::runtime {
namespace {

__global__ void no_work() {}

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
    answer_old_driver(answer, CUDART_VERSION, driver);
    return false;
  }
  if (error != cudaSuccess && error != cudaErrorNoDevice) {
    std::snprintf(answer.why, sizeof answer.why, "the NVIDIA driver does not start: %s",
                  cudaGetErrorString(error));
    return false;
  }
  if (count >= request.count) return true;
  answer_too_few(answer, request.count, count);
  return false;
}

bool has_code_for(int number, DeviceAnswer& answer) {
  cudaDeviceProp properties{};
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaGetDeviceProperties(&properties, number);
  if (error == cudaSuccess && properties.major < least_compute_major) {
    answer_no_code(answer, properties.name, properties.major, properties.minor);
    return false;
  }
  if (error == cudaSuccess) error = cudaSetDevice(number);
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, no_work);
  if (error == cudaSuccess) return true;
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    answer_no_code(answer, properties.name, properties.major, properties.minor);
  } else {  // another program has all of its memory, or has it alone
    std::snprintf(answer.why, sizeof answer.why, "%s cannot be used: %s",
                  properties.name[0] == 0 ? "the GPU" : properties.name, cudaGetErrorString(error));
  }
  return false;
}

void answer_request(const DeviceRequest& request, DeviceAnswer& answer) {
  if (std::strcmp(request.build, build_id) != 0) {
    answer_other_build(answer, build_id, request.build);
    return;
  }
  if (!is_there(request, answer) || !has_code_for(request.number, answer)) return;
  auto device =
      std::make_unique<CudaDevice>(request.number, request.precision, request.with_libraries);
  if (device->failure() != nullptr) return answer_no(answer, device->failure());
  answer.device = device.release();
}

}  // namespace
}  // namespace trainyard::runtime

extern "C" __attribute__((visibility("default"))) void trainyard_device_v1(
    const trainyard::runtime::DeviceRequest* request, trainyard::runtime::DeviceAnswer* answer) {
  trainyard::runtime::answer_request(*request, *answer);
}
