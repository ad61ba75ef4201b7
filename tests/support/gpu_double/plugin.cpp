// Stands for libtrainyard-cuda.so: the same symbol, the same answers and the same sentences, of
// GPUs that are the mirror device. Which, says a file beside it (shown_gpus.h); without one it
// answers that it is a double. It is built under another name than the product opens, outside the
// folder of the programs; tests put it beside a copy of trainyard-runtime.
#include "runtime/graph/cuda/plugin.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>

#include "runtime/graph/build_id.h"
#include "tests/support/gpu_double/failing_device.h"
#include "tests/support/gpu_double/shown_gpus.h"

extern "C" __attribute__((visibility("default"))) void trainyard_device_v1(
    const trainyard::runtime::DeviceRequest* request, trainyard::runtime::DeviceAnswer* answer);

namespace trainyard::gpu_double {
namespace {

constexpr int needed_driver_major = 13;
constexpr int least_major = 8;

std::filesystem::path own_folder() {
  Dl_info about{};
  if (dladdr(reinterpret_cast<const void*>(&trainyard_device_v1), &about) == 0) return {};
  return std::filesystem::path(about.dli_fname).parent_path();
}

// "" where the request can be met.
std::string why_not(const runtime::DeviceRequest& request, const ShownGpus& shown,
                    const std::vector<ShownGpu>& visible) {
  const std::string build = shown.build.empty() ? runtime::build_id : shown.build;
  if (request.build != build) {
    return "libtrainyard-cuda.so is of build " + build.substr(0, 16) + ", the runtime of " +
           std::string(request.build).substr(0, 16);
  }
  if (shown.driver_major < needed_driver_major) {
    return "the driver is older than CUDA " + std::to_string(needed_driver_major) +
           ".0 needs: it knows CUDA up to " + std::to_string(shown.driver_major) + "." +
           std::to_string(shown.driver_minor);
  }
  if (std::ssize(visible) < request.count) {
    return "GPU slots given: " + std::to_string(request.count) +
           "; GPUs that the driver shows: " + std::to_string(visible.size());
  }
  const ShownGpu& gpu = visible.at(static_cast<std::size_t>(request.number));
  if (gpu.major >= least_major) return "";
  return gpu.name + " (sm_" + std::to_string(gpu.major) + std::to_string(gpu.minor) +
         ") is not among sm_80, sm_90 and newer";
}

void answer_request(const runtime::DeviceRequest& request, runtime::DeviceAnswer& answer) {
  const std::filesystem::path folder = own_folder();
  const ShownGpus shown = shown_in(folder / "gpus");
  const auto visible = visible_of(shown.gpus, std::getenv("CUDA_VISIBLE_DEVICES"));
  const std::string why = why_not(request, shown, visible);
  if (!why.empty()) {
    std::snprintf(answer.why, sizeof answer.why, "%s", why.c_str());
    return;
  }
  const ShownGpu& gpu = visible.at(static_cast<std::size_t>(request.number));
  answer.device = new FailingDevice(gpu.name,
                                    {.bytes = gpu.memory_mb << 20,
                                     .is_late = true,
                                     .seed = static_cast<std::uint64_t>(request.number) + 1},
                                    folder / "failure");
}

}  // namespace
}  // namespace trainyard::gpu_double

void trainyard_device_v1(const trainyard::runtime::DeviceRequest* request,
                         trainyard::runtime::DeviceAnswer* answer) {
  try {
    trainyard::gpu_double::answer_request(*request, *answer);
  } catch (const std::exception& error) {
    std::snprintf(answer->why, sizeof answer->why, "%s", error.what());
  }
}
